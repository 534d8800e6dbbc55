"""How model families write a call, from their templates: (tool, arguments) to text."""

import json
from collections.abc import Callable
from typing import Any

from tests.tools.seventh_set.build import Json

Writer = Callable[[str, Json], str]


def J(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def raw(value: object) -> str:
    return value if isinstance(value, str) else J(value)


def obj(name: str, arguments: Json, key: str = "arguments") -> str:
    return J({"name": name, key: arguments})


def each(form: str, arguments: Json, joint: str = "\n") -> str:
    return joint.join(form.replace("@K", key).replace("@V", raw(value)) for key, value in arguments.items())


def python(name: str, arguments: Json) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def quoted(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, list):
        return "[" + ",".join(quoted(one, quote) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{quoted(one, quote)}" for key, one in value.items()) + "}"
    return J(value)


def glm(open_: str = "tool_call", gap: str = "\n") -> Writer:
    return lambda n, a: (
        f"<{open_}>{n}{gap}"
        + each(f"<arg_key>@K</arg_key>{gap}<arg_value>@V</arg_value>", a, gap)
        + f"{gap}</{open_}>"
    )


def invoke(before: str, mark: str, after: str, typed: bool = False) -> Writer:
    def write(name: str, arguments: Json) -> str:
        lines = [f'<{mark}invoke name="{name}">']
        for key, value in arguments.items():
            kind = f' string="{str(isinstance(value, str)).lower()}"' if typed else ""
            lines.append(f'<{mark}parameter name="{key}"{kind}>{raw(value)}</{mark}parameter>')
        return "\n".join([before, *lines, f"</{mark}invoke>", after]).strip("\n")

    return write


def minimax3(name: str, arguments: Json) -> str:
    ns = "]<]minimax[>["
    inner = "".join(f"{ns}<{key}>{raw(value)}{ns}</{key}>" for key, value in arguments.items())
    return f'{ns}<tool_call>\n{ns}<invoke name="{name}">{inner}{ns}</invoke>\n{ns}</tool_call>'


def qwen(open_: str) -> Writer:
    return lambda n, a: (
        f"<{open_}>\n<function={n}>\n"
        + each("<parameter=@K>\n@V\n</parameter>", a)
        + f"\n</function>\n</{open_}>"
    )


def hunyuan4(name: str, arguments: Json) -> str:
    s = ":6124c78e"
    pairs = each(f"<arg_key{s}>@K</arg_key{s}><arg_value{s}>@V</arg_value{s}>", arguments, "")
    return f"<tool_calls{s}>\n<tool_call{s}>{name}{pairs}</tool_call{s}>\n</tool_calls{s}>"


def cohere(name: str, arguments: Json) -> str:
    listed = [{"tool_call_id": "0", "tool_name": name, "parameters": arguments}]
    return f"<|START_ACTION|>{json.dumps(listed, indent=4, ensure_ascii=False)}<|END_ACTION|>"


def deepseek3(name: str, arguments: Json) -> str:
    body = f"function<｜tool▁sep｜>{name}\n```json\n{J(arguments)}\n```"
    return f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{body}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"


def step(name: str, arguments: Json) -> str:
    inner = each('<steptml:parameter name="@K">@V</steptml:parameter>', arguments, "")
    body = f'function<｜tool_sep｜><steptml:invoke name="{name}">{inner}</steptml:invoke>'
    return f"<｜tool_calls_begin｜><｜tool_call_begin｜>{body}<｜tool_call_end｜><｜tool_calls_end｜>"


JSON_FAMILIES: dict[str, Writer] = {
    "hermes": lambda n, a: f"<tool_call>\n{obj(n, a)}\n</tool_call>",
    "llama": lambda n, a: f"<|python_tag|>{obj(n, a, 'parameters')}",
    "mistral list": lambda n, a: f"[TOOL_CALLS] [{obj(n, a)}]",
    "mistral": lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{J(a)}",
    "devstral": lambda n, a: f"[TOOL_CALLS]{n}[CALL_ID]Xk29dLq0a[ARGS]{J(a)}",
    "deepseek v3": deepseek3,
    "deepseek v3.1": lambda n, a: (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{J(a)}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "kimi": lambda n, a: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{n}:3<|tool_call_argument_begin|>{J(a)}<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "glm flash": lambda n, a: f"<tool_call>{n}>{J(a)}</tool_call>",
    "granite": lambda n, a: f"<|tool_call|>[{obj(n, a)}]",
    "granite 20b": lambda n, a: f"<function_call> {obj(n, a)}",
    "functionary": lambda n, a: f"<function={n}>{J(a)}</function>",
    "harmony": lambda n, a: (
        f"<|start|>assistant<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{J(a)}<|call|>"
    ),
    "harmony analysis": lambda n, a: f"<|channel|>analysis to=functions.{n} code<|message|>{J(a)}<|call|>",
    "phi": lambda n, a: f"functools[{obj(n, a)}]",
    "phi 4 mini": lambda n, a: f"<|tool_call|>[{obj(n, a)}]<|/tool_call|>",
    "cohere": cohere,
    "internlm": lambda n, a: f"<|action_start|><|plugin|>\n{obj(n, a, 'parameters')}<|action_end|>",
    "jamba": lambda n, a: f"<tool_calls>[{obj(n, a)}]</tool_calls>",
    "nemotron": lambda n, a: f"<TOOLCALL>[{obj(n, a)}]</TOOLCALL>",
    "apertus": lambda n, a: f"<|tools_prefix|>[{J({n: a})}]<|tools_suffix|>",
    "pangu": lambda n, a: f"<|tool_call_start|>[{obj(n, a)}]<|tool_call_end|>",
    "lm studio": lambda n, a: f"[TOOL_REQUEST]{obj(n, a)}[END_TOOL_REQUEST]",
    "doubao": lambda n, a: f"<|FunctionCallBegin|>[{obj(n, a, 'parameters')}]<|FunctionCallEnd|>",
    "solar": lambda n, a: (
        f"<|tool_call:begin|>k3j9x2<|tool_call:name|>{n}<|tool_call:args|>{J(a)}<|tool_call:end|>"
    ),
    "hyperclova": lambda n, a: f"<|im_start|>assistant -> tool/function_call\n[{obj(n, a)}]<|im_end|>",
}
TAG_FAMILIES: dict[str, Writer] = {
    "qwen coder": qwen("tool_call"),
    "seed": qwen("seed:tool_call"),
    "glm": glm(),
    "glm tight": glm(gap=""),
    "iquest": glm("iquest_tool_call"),
    "longcat": lambda n, a: (
        f"<longcat_tool_call>{n}\n"
        + each("<longcat_arg_key>@K</longcat_arg_key>\n<longcat_arg_value>@V</longcat_arg_value>", a)
        + "\n</longcat_tool_call>"
    ),
    "hunyuan 4": hunyuan4,
    "minimax": invoke("<minimax:tool_call>", "", "</minimax:tool_call>"),
    "minimax 3": minimax3,
    "dsml": invoke("<｜DSML｜function_calls>", "｜DSML｜", "</｜DSML｜function_calls>", True),
    "dsml 4.1": invoke("<｜DSML｜ calls>", "｜DSML｜ ", "</｜DSML｜ calls>", True),
    "gcml": invoke("<｜GCML｜tool_calls>", "｜GCML｜", "</｜GCML｜tool_calls>", True),
    "claude": invoke("<function_calls>", "", "</function_calls>"),
    "claude damaged": invoke("court", "", ""),
    "step": step,
    "gemma": lambda n, a: f"<|tool_call>call:{n}{quoted(a, '<|' + chr(34) + '|>')}<tool_call|>",
    "function gemma": lambda n, a: f"<start_function_call>call:{n}{quoted(a, '<escape>')}<end_function_call>",
    "lfm": lambda n, a: f"<|tool_call_start|>[{python(n, a)}]<|tool_call_end|>",
    "olmo": lambda n, a: f"<function_calls>\n{python(n, a)}\n</function_calls>",
    "xai": lambda n, a: (
        f'<xai:function_call name="{n}">'
        + each('<parameter name="@K">@V</parameter>', a, "")
        + "</xai:function_call>"
    ),
    "minicpm": lambda n, a: (
        f'<function name="{n}">' + each('<param name="@K">@V</param>', a, "") + "</function>"
    ),
    "cline": lambda n, a: f"<{n}>\n" + each("<@K>@V</@K>", a) + f"\n</{n}>",
    "smolagents": lambda n, a: f"<code>\nresult = {python(n, a)}\nprint(result)\n</code>",
    "cwm": lambda n, a: f"<tool: {n}>\n{n} {J(a)}\n</tool>",
}
BARE_FAMILIES: dict[str, Writer] = {
    "llama bare": lambda n, a: obj(n, a, "parameters"),
    "xlam": lambda n, a: f"[{obj(n, a)}]",
    "pythonic": lambda n, a: f"[{python(n, a)}]",
    "react": lambda n, a: f"Action: {n}\nAction Input: {J(a)}",
    "mistral stripped": lambda n, a: f"{n}[ARGS]{J(a)}",
    "gemma code": lambda n, a: f"```tool_code\n{python(n, a)}\n```",
    "calling": lambda n, a: f"[Calling tool: {n}({J(a)})]",
    "kimi stripped": lambda n, a: f"functions.{n}:0{J(a)}",
    "harmony stripped": lambda n, a: f"assistantcommentary to=functions.{n} json{J(a)}",
}
FAMILIES = JSON_FAMILIES | TAG_FAMILIES
