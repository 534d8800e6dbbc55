"""How each family of models writes calls: own renderers, so that the reader under test is held to the grammar."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Calls = list[tuple[str, dict[str, Any]]]


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def pythonic(calls: Calls) -> str:
    return "[" + ", ".join(f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls) + "]"


def objects(calls: Calls, name: str = "name", arguments: str = "arguments") -> str:
    return dumps([{name: n, arguments: a} for n, a in calls])


def each(template: str, between: str = "\n") -> Callable[[Calls], str]:
    """One block a call; `%N` is the name, `%A` the arguments as JSON, `%I` the number of the call."""

    def render(calls: Calls) -> str:
        return between.join(
            template.replace("%N", n).replace("%A", dumps(a)).replace("%I", str(i))
            for i, (n, a) in enumerate(calls)
        )

    return render


def tagged(head: str, one: str, tail: str, between: str = "\n") -> Callable[[Calls], str]:
    """One block a call with one tag a parameter; `%K` and `%V` are a parameter's name and value."""

    def render(calls: Calls) -> str:
        return between.join(
            head.replace("%N", n)
            + "".join(one.replace("%K", k).replace("%V", plain(v)) for k, v in a.items())
            + tail.replace("%N", n)
            for n, a in calls
        )

    return render


def around(before: str, inner: Callable[[Calls], str], after: str) -> Callable[[Calls], str]:
    return lambda calls: before + inner(calls) + after


def gemma(quote: str, before: str, after: str) -> Callable[[Calls], str]:
    def render(calls: Calls) -> str:
        shown = (
            (
                n,
                ",".join(
                    f"{k}:{quote + v + quote if isinstance(v, str) else dumps(v)}" for k, v in a.items()
                ),
            )
            for n, a in calls
        )
        return "".join(f"{before}call:{n}{{{inside}}}{after}" for n, inside in shown)

    return render


HERMES = each('<tool_call>\n{"name": "%N", "arguments": %A}\n</tool_call>')
QWEN3_CODER = tagged(
    "<tool_call>\n<function=%N>\n", "<parameter=%K>\n%V\n</parameter>\n", "</function>\n</tool_call>"
)
GLM = tagged("<tool_call>%N\n", "<arg_key>%K</arg_key>\n<arg_value>%V</arg_value>\n", "</tool_call>")
INVOKE = tagged('<invoke name="%N">\n', '<parameter name="%K">%V</parameter>\n', "</invoke>")
DSML = tagged(
    '<｜DSML｜invoke name="%N">\n',
    '<｜DSML｜parameter name="%K" string="true">%V</｜DSML｜parameter>\n',
    "</｜DSML｜invoke>",
)

FAMILIES: dict[str, Callable[[Calls], str]] = {
    "hermes": HERMES,
    "qwen3-coder": QWEN3_CODER,
    "glm": GLM,
    "llama-json": lambda calls: (
        "<|python_tag|>" + "; ".join(dumps({"name": n, "parameters": a}) for n, a in calls)
    ),
    "llama4-pythonic": around("<|python_start|>", pythonic, "<|python_end|>"),
    "mistral-list": around("[TOOL_CALLS]", objects, ""),
    "mistral-args": each("[TOOL_CALLS]%N[ARGS]%A", ""),
    "mistral-brace": each("[TOOL_CALLS]%N%A", ""),
    "deepseek-v3": around(
        "<｜tool▁calls▁begin｜>",
        each("<｜tool▁call▁begin｜>function<｜tool▁sep｜>%N\n```json\n%A\n```<｜tool▁call▁end｜>"),
        "<｜tool▁calls▁end｜>",
    ),
    "deepseek-v31": around(
        "<｜tool▁calls▁begin｜>",
        each("<｜tool▁call▁begin｜>%N<｜tool▁sep｜>%A<｜tool▁call▁end｜>", ""),
        "<｜tool▁calls▁end｜>",
    ),
    "dsml": around("<｜DSML｜function_calls>\n", DSML, "\n</｜DSML｜function_calls>"),
    "kimi": around(
        "<|tool_calls_section_begin|>",
        each("<|tool_call_begin|>functions.%N:%I<|tool_call_argument_begin|>%A<|tool_call_end|>", ""),
        "<|tool_calls_section_end|>",
    ),
    "minimax": around("<minimax:tool_call>\n", INVOKE, "\n</minimax:tool_call>"),
    "function-calls-xml": around("<function_calls>\n", INVOKE, "\n</function_calls>"),
    "granite": around("<|tool_call|>", objects, ""),
    "functiongemma": gemma("<escape>", "<start_function_call>", "<end_function_call>"),
    "gemma4": gemma('<|"|>', "<|tool_call>", "<tool_call|>"),
    "functionary-v31": each("<function=%N>%A</function>"),
    "functionary-v32": each(">>>%N\n%A"),
    "harmony": each("<|channel|>commentary to=functions.%N <|constrain|>json<|message|>%A<|call|>", ""),
    "phi4": around("functools", objects, ""),
    "command-r": around(
        "<|START_ACTION|>", lambda c: objects(c, "tool_name", "parameters"), "<|END_ACTION|>"
    ),
    "internlm": each('<|action_start|><|plugin|>\n{"name": "%N", "parameters": %A}<|action_end|>'),
    "jamba": around("<tool_calls>", objects, "</tool_calls>"),
    "nemotron": around("<TOOLCALL>", objects, "</TOOLCALL>"),
    "lfm2": around("<|tool_call_start|>", pythonic, "<|tool_call_end|>"),
    "seed": tagged(
        "<seed:tool_call>\n<function=%N>\n",
        "<parameter=%K>%V</parameter>\n",
        "</function>\n</seed:tool_call>",
    ),
    "longcat": each('<longcat_tool_call>\n{"name": "%N", "arguments": %A}\n</longcat_tool_call>'),
    "apertus": lambda calls: f"<|tools_prefix|>{dumps([{n: a} for n, a in calls])}<|tools_suffix|>",
    "react": each("Thought: I should look.\nAction: %N\nAction Input: %A"),
    "smolagents-json": each('Thought: I should look.\nAction:\n{"name": "%N", "arguments": %A}'),
    "smolagents-code": lambda calls: (
        "<code>\n"
        + "\n".join(f"result = {n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls)
        + "\n</code>"
    ),
    "mcp-xml": each(
        "<use_mcp_tool>\n<server_name>local</server_name>\n<tool_name>%N</tool_name>\n<arguments>\n%A\n</arguments>\n</use_mcp_tool>"
    ),
    "tool-as-tag": tagged("<%N>\n", "<%K>%V</%K>\n", "</%N>"),
    "lm-studio": each('[TOOL_REQUEST]{"name": "%N", "arguments": %A}[END_TOOL_REQUEST]'),
    "qwen2-agent": each("✿FUNCTION✿: %N\n✿ARGS✿: %A"),
    "solar": each("<|tool_call:begin|>x%I<|tool_call:name|>%N<|tool_call:args|>%A<|tool_call:end|>", ""),
}

TOKENS_LOST: dict[str, Callable[[Calls], str]] = {
    "mistral-args": each("%N[ARGS]%A", ""),
    "mistral-brace": each("%N%A", ""),
    "mistral-list": objects,
    "deepseek-v31": each("%N%A", "\n"),
    "deepseek-v3": each("function%N\n```json\n%A\n```"),
    "kimi": each("functions.%N:%I%A", ""),
    "harmony": each("commentary to=functions.%N json%A", ""),
    "harmony-assistant": each("assistantcommentary to=functions.%N json%A", ""),
    "llama-json": each('{"name": "%N", "parameters": %A}', "; "),
    "lfm2": pythonic,
    "gemma4": gemma("", "", ""),
    "functiongemma": gemma("", "", "\n"),
    "glm": tagged("%N\n", "<arg_key>%K</arg_key>\n<arg_value>%V</arg_value>\n", ""),
    "qwen3-coder": tagged("<function=%N>\n", "<parameter=%K>\n%V\n</parameter>\n", "</function>"),
    "hermes": each('{"name": "%N", "arguments": %A}'),
    "minimax": INVOKE,
    "command-r": lambda c: dumps([{"tool_call_id": "0", "tool_name": n, "parameters": a} for n, a in c]),
    "internlm": each('{"name": "%N", "parameters": %A}'),
    "apertus": lambda calls: dumps([{n: a} for n, a in calls]),
    "solar": each("%N%A"),
    "dsml": tagged('invoke name="%N">\n', 'parameter name="%K" string="true">%V</parameter>\n', "</invoke>"),
}
