"""Every family's grammar as a writer of calls, and values that tempt a reader to stop too early."""

import json
from collections.abc import Callable
from typing import Any

Arguments = dict[str, Any]
Writer = Callable[[str, Arguments], str]
M3, ANT = "]<]minimax[>[", "antml" + ":"


def J(value: object) -> str:
    """Return the value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def obj(name: str, arguments: Arguments, key: str = "arguments") -> str:
    """Return the object that most families write."""
    return J({"name": name, key: arguments})


def text_of(value: object) -> str:
    """Return the value as a tag holds it: a text as it is."""
    return value if isinstance(value, str) else J(value)


def each(form: str) -> Callable[[Arguments], str]:
    """Return a writer of parameters, one by one, without types: `K` is the key and `V` the value in `form`."""

    def write(arguments: Arguments) -> str:
        return "".join(
            form.replace("K", key).replace("V", text_of(value), 1) for key, value in arguments.items()
        )

    return write


def python(name: str, arguments: Arguments) -> str:
    """Return a call as Python writes it."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def gemma(value: object) -> str:
    """Return a value as Gemma 4 writes it."""
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, list):
        return f"[{','.join(map(gemma, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{gemma(one)}' for key, one in value.items())}}}"
    return J(value)


def minimax(value: object) -> str:
    """Return a value as MiniMax M3 writes it: a token before each tag."""
    if isinstance(value, list):
        return "".join(f"{M3}<item>{one}{M3}</item>" for one in value)
    if isinstance(value, dict):
        return "".join(f"{M3}<{key}>{minimax(one)}{M3}</{key}>" for key, one in value.items())
    return text_of(value)


def dsml(mark: str, wrapper: str, space: str = "") -> Writer:
    """Return a writer of calls as DeepSeek V3.2 and those after it write them, each with marks of its own."""

    def write(name: str, arguments: Arguments) -> str:
        parameters = "".join(
            f'<{mark}{space}parameter name="{key}" string="{J(isinstance(value, str))}">{text_of(value)}</{mark}{space}parameter>\n'
            for key, value in arguments.items()
        )
        inner = f'<{mark}{space}invoke name="{name}">\n{parameters}</{mark}{space}invoke>'
        return f"<{mark}{space}{wrapper}>\n{inner}\n</{mark}{space}{wrapper}>"

    return write


WRITERS: dict[str, Writer] = {
    "hermes": lambda n, a: f"<tool_call>\n{obj(n, a)}\n</tool_call>",
    "coder": lambda n, a: (
        f"<tool_call>\n<function={n}>\n"
        + each("<parameter=K>\nV\n</parameter>\n")(a)
        + "</function>\n</tool_call>"
    ),
    "llama": lambda n, a: "<|python_tag|>" + obj(n, a, "parameters"),
    "llama bare": lambda n, a: obj(n, a, "parameters"),
    "pythonic": lambda n, a: "[" + python(n, a) + "]",
    "py start": lambda n, a: "<|python_start|>[" + python(n, a) + "]<|python_end|>",
    "mistral list": lambda n, a: f"[TOOL_CALLS][{obj(n, a)}]",
    "mistral args": lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{J(a)}",
    "mistral brace": lambda n, a: f"[TOOL_CALLS]{n}{J(a)}",
    "ds3": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{J(a)}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "ds31": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{J(a)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "dsml": dsml("｜DSML｜", "tool_calls"),
    "glm": lambda n, a: (
        f"<tool_call>{n}\n" + each("<arg_key>K</arg_key>\n<arg_value>V</arg_value>\n")(a) + "</tool_call>"
    ),
    "glm inline": lambda n, a: (
        f"<tool_call>{n}" + each("<arg_key>K</arg_key><arg_value>V</arg_value>")(a) + "</tool_call>"
    ),
    "kimi": lambda n, a: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{n}:0<|tool_call_argument_begin|>{J(a)}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "harmony": lambda n, a: (
        f"<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{J(a)}<|call|>"
    ),
    "harmony lost": lambda n, a: f"assistantcommentary to=functions.{n} json{J(a)}",
    "minimax m2": lambda n, a: (
        f'<minimax:tool_call>\n<invoke name="{n}">\n'
        + each('<parameter name="K">V</parameter>\n')(a)
        + "</invoke>\n</minimax:tool_call>"
    ),
    "minimax m3": lambda n, a: (
        f'{M3}<tool_call>\n{M3}<invoke name="{n}">{minimax(a)}{M3}</invoke>\n{M3}</tool_call>'
    ),
    "muse": lambda n, a: (
        f'<atem:function_calls>\n<atem:invoke name="{n}">\n'
        + each('<atem:parameter name="K">V</atem:parameter>\n')(a)
        + "</atem:invoke>\n</atem:function_calls>"
    ),
    "claude": lambda n, a: (
        f'<{ANT}function_calls>\n<{ANT}invoke name="{n}">\n'
        + each("<" + ANT + 'parameter name="K">V</' + ANT + "parameter>\n")(a)
        + f"</{ANT}invoke>\n</{ANT}function_calls>"
    ),
    "granite": lambda n, a: f"<|tool_call|>[{obj(n, a)}]",
    "phi": lambda n, a: f"functools[{obj(n, a)}]",
    "command": lambda n, a: (
        f"<|START_ACTION|>[{J({'tool_call_id': '0', 'tool_name': n, 'parameters': a})}]<|END_ACTION|>"
    ),
    "command fence": lambda n, a: f"Action: ```json\n[{J({'tool_name': n, 'parameters': a})}]```",
    "jamba": lambda n, a: f"<tool_calls>[{obj(n, a)}]</tool_calls>",
    "nemotron": lambda n, a: f"<TOOLCALL>[{obj(n, a)}]</TOOLCALL>",
    "seed": lambda n, a: (
        f"<seed:tool_call>\n<function={n}>\n"
        + each("<parameter=K>V</parameter>\n")(a)
        + "</function>\n</seed:tool_call>"
    ),
    "internlm": lambda n, a: f"<|action_start|><|plugin|>\n{obj(n, a, 'parameters')}<|action_end|>",
    "xlam": lambda n, a: f"[{obj(n, a)}]",
    "step3": lambda n, a: (
        f'<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{n}">'
        + each('<steptml:parameter name="K">V</steptml:parameter>')(a)
        + "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"
    ),
    "gemma4": lambda n, a: f"<|tool_call>call:{n}{gemma(a)}<tool_call|>",
    "gemma fn": lambda n, a: f"<start_function_call>call:{n}{gemma(a)}<end_function_call>".replace(
        '<|"|>', "<escape>"
    ),
    "tool_code": lambda n, a: f"```tool_code\n{python(n, a)}\n```",
    "smol": lambda n, a: f"Thought: I do it.\n<code>\nx = {python(n, a)}\nprint(x)\n</code>",
    "functionary": lambda n, a: f">>>{n}\n{J(a)}",
    "llama tag": lambda n, a: f"<function={n}>{J(a)}</function>",
    "apertus": lambda n, a: f"<|tools_prefix|>[{J({n: a})}]<|tools_suffix|>",
    "solar": lambda n, a: (
        f"<|tool_call:begin|>a1b2<|tool_call:name|>{n}<|tool_call:args|>{J(a)}<|tool_call:end|>"
    ),
    "lfm": lambda n, a: "<|tool_call_start|>[" + python(n, a) + "]<|tool_call_end|>",
    "olmo": lambda n, a: "<function_calls>\n" + python(n, a) + "\n</function_calls>",
    "doubao": lambda n, a: f"<|FunctionCallBegin|>[{obj(n, a, 'parameters')}]<|FunctionCallEnd|>",
    "longcat": lambda n, a: (
        f"<longcat_tool_call>{n}\n"
        + each("<longcat_arg_key>K</longcat_arg_key>\n<longcat_arg_value>V</longcat_arg_value>\n")(a)
        + "</longcat_tool_call>"
    ),
    "xai": lambda n, a: (
        f'<xai:function_call name="{n}">'
        + each('<parameter name="K">V</parameter>')(a)
        + "</xai:function_call>"
    ),
    "cline": lambda n, a: f"<{n}>\n" + each("<K>V</K>\n")(a) + f"</{n}>",
    "mcp": lambda n, a: (
        f"<use_mcp_tool>\n<server_name>s</server_name>\n<tool_name>{n}</tool_name>\n<arguments>\n{J(a)}\n</arguments>\n</use_mcp_tool>"
    ),
    "react": lambda n, a: f"Thought: go.\nAction: {n}\nAction Input: {J(a)}",
    "lmstudio": lambda n, a: f"[TOOL_REQUEST]{obj(n, a)}[END_TOOL_REQUEST]",
    "inkling": lambda n, a: f"<|message_model|>{n}<|content_invoke_tool_json|>{J(a)}<|end_message|>",
    "hy3": lambda n, a: (
        f"<tool_calls:opensource>\n<tool_call:opensource>{n}<tool_sep:opensource>\n"
        + each(
            "<arg_key:opensource>K</arg_key:opensource>\n<arg_value:opensource>V</arg_value:opensource>\n"
        )(a)
        + "</tool_call:opensource>\n</tool_calls:opensource>"
    ),
    "openai": lambda n, a: J(
        {"tool_calls": [{"id": "c", "type": "function", "function": {"name": n, "arguments": J(a)}}]}
    ),
    "qwen agent": lambda n, a: f"✿FUNCTION✿: {n}\n✿ARGS✿: {J(a)}",
    "tool_use": lambda n, a: J({"type": "tool_use", "id": "t", "name": n, "input": a}),
    "named": lambda n, a: f"{n}{J(a)}",
}

VALUES: list[tuple[str, Arguments]] = [
    ("shell", {"cmd": "ls"}),
    ("shell", {"cmd": "echo \"a\" && echo 'b'"}),
    ("shell", {"cmd": "cat <<E > f\nline one\n\tline two\nE"}),
    ("shell", {"cmd": "grep -r '<b>' . | sed 's/<\\/b>//g'", "timeout_ms": 3000}),
    ("shell", {"cmd": "awk '{print $1}' a | jq '.[] | {a: .b}'"}),
    ("notes.add", {"text": "größer als 5 € — 測試 🚀"}),
    ("shell", {"cmd": "printf '%s\\n' \"$HOME\"", "env": {"A": "1", "B_C": "x y"}}),
    ("grep", {"pattern": "a,b:c", "paths": ["src", "tests"], "ignore_case": True, "context": 2}),
    ("whoami", {}),
    ("open_file", {"path": "a b/c(d)[e].txt", "line": 12}),
    ("grep", {"pattern": "\\d+\\.\\d+", "context": 0}),
    ("notes.add", {"text": 'It is done.\n\n1. One\n2. Two, and "three"'}),
    (
        "mcp__github__create_issue",
        {"title": "Crash: x = [1, 2)", "body": "```py\nf(x)\n```", "labels": ["bug", "p1"]},
    ),
]
