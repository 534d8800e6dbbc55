"""The tools of the sixth set, and the grammars of families that are read in no earlier set, as writers."""

import json
from typing import Any

from tests.tools.fifth_set.build import place
from tests.tools.fifth_set.writers import Arguments, J, Writer, dsml, each, obj, text_of
from tests.tools.fourth_set import build
from tests.tools.fourth_set.build import FLAG, INTEGER, STRING, Call, Case, Json, tool

__all__ = ["CHAT", "TOOLS", "WRITERS", "Call", "Case", "Json", "case", "made", "place"]
PAIR = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
TOOLS: list[Json] = [
    tool("Bash", "command", command=STRING, timeout=INTEGER, run_in_background=FLAG),
    tool("Read", "file_path", file_path=STRING, offset=INTEGER, limit={"type": "integer", "minimum": 1}),
    tool(
        "Edit",
        "file_path old_string new_string",
        file_path=STRING,
        old_string=STRING,
        new_string=STRING,
        replace_all=FLAG,
    ),
    tool(
        "web-search",
        "query",
        query=STRING,
        max_results={"type": "integer", "minimum": 1, "maximum": 20},
        site={"type": ["string", "null"]},
    ),
    tool("mcp__jira__get_issue", "key", key={"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}),
    tool("ping"),
    tool(
        "plot",
        "points",
        strict=True,
        points={"type": "array", "items": PAIR, "minItems": 1},
        colour={"enum": ["red", "blue"]},
    ),
    tool(
        "schedule",
        "when",
        when={
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"cron": STRING},
                    "required": ["cron"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"at": {"type": "string", "format": "date"}},
                    "required": ["at"],
                    "additionalProperties": False,
                },
            ]
        },
        options={
            "type": "object",
            "properties": {"retries": INTEGER},
            "additionalProperties": False,
        },
    ),
]
CHAT = {"wire": "chat"}


def case(name: str, want: str = "", **fields: Any) -> Case:
    """Return a case with the tools of this set, unless it names others."""
    fields["asked"] = {"tools": TOOLS} | fields.get("asked", {})
    return build.case(name, want, **fields)


def made(name: str, want: str, tool_name: str, arguments: object, **more: Any) -> Case:
    """Return a case of one delivered call; arguments that are no text are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return case(name, want, calls=(Call(tool_name, text),), **more)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {str: "string", dict: "object", list: "array"}.get(type(value), "number")


def _kimi3(name: str, arguments: Arguments) -> str:
    written = "".join(
        f'<|open|>argument key="{key}" type="{_kind(value)}"<|sep|>{text_of(value)}<|close|>argument<|sep|>'
        for key, value in arguments.items()
    )
    call = f'<|open|>call tool="{name}" index="1"<|sep|>{written}<|close|>call<|sep|>'
    return f"<|open|>tools<|sep|>{call}<|close|>tools<|sep|>"


def _ifm(typed: bool) -> Writer:
    def write(name: str, arguments: Arguments) -> str:
        written = "".join(
            f"<ifm|arg_key>{key}</ifm|arg_key>\n"
            + (f"<ifm|arg_type>{_kind(value)}</ifm|arg_type>\n" if typed else "")
            + f"<ifm|arg_value>{text_of(value)}</ifm|arg_value>\n"
            for key, value in arguments.items()
        )
        return f"<ifm|tool_calls>\n<ifm|tool_call>{name}\n{written}</ifm|tool_call>\n</ifm|tool_calls>"

    return write


def _plamo(name: str, arguments: Arguments) -> str:
    def tag(what: str) -> str:
        return f"<|plamo:{what}:plamo|>"

    inner = f"{tag('begin_tool_name')}{name}{tag('end_tool_name')}"
    inner += f"{tag('begin_tool_arguments')}{J(arguments)}{tag('end_tool_arguments')}"
    return (
        tag("begin_tool_requests")
        + tag("begin_tool_request")
        + inner
        + tag("end_tool_request")
        + tag("end_tool_requests")
    )


PAIRS = each("<arg_key>K</arg_key>\n<arg_value>V</arg_value>\n")
WRITERS: dict[str, Writer] = {
    "dsml 4.1": dsml("｜DSML｜", "calls", " "),
    "gcml": dsml("｜GCML｜", "tool_calls"),
    "dsml ascii": dsml("|DSML|", "function_calls"),
    "kimi k3": _kimi3,
    "kimi k3 json": lambda n, a: (
        f'<|open|>tools<|sep|><|open|>call tool="{n}" index="1"<|sep|><|open|>json type="object"<|sep|>{J(a)}'
        "<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>"
    ),
    "ifm": _ifm(typed=False),
    "ifm typed": _ifm(typed=True),
    "ifm json": lambda n, a: f"<ifm|tool_calls><ifm|tool_call>{obj(n, a)}</ifm|tool_call></ifm|tool_calls>",
    "minicpm": lambda n, a: f'<function name="{n}">' + each('<param name="K">V</param>')(a) + "</function>",
    "minicpm cdata": lambda n, a: (
        f'<function name="{n}">' + each('<param name="K"><![CDATA[V]]></param>')(a) + "</function>"
    ),
    "iquest": lambda n, a: f"<iquestcoder_tool_call>{n}\n{PAIRS(a)}</iquestcoder_tool_call>",
    "iquest q1": lambda n, a: f"<iquest_tool_call>{n}{PAIRS(a)}</iquest_tool_call>",
    "dots": lambda n, a: (
        f'<dots_function_call>\n<invoke name="{n}">\n'
        + each('<parameter name="K">V</parameter>\n')(a)
        + "</invoke>\n</dots_function_call>"
    ),
    "dots json": lambda n, a: f"<dots_function_call>\n{obj(n, a)}\n</dots_function_call>",
    "pangu": lambda n, a: f"<|tool_call_start|>[{obj(n, a)}]<|tool_call_end|>",
    "pangu unused": lambda n, a: f"[unused11][{obj(n, a)}][unused12]",
    "plamo": _plamo,
    "telechat": lambda n, a: (
        f"<tool_call>{n}" + each("<param_key>K</param_key><param_value>V</param_value>")(a) + "</tool_call>"
    ),
    "telechat json": lambda n, a: f"<tool_call>{n}{J(a)}</tool_call>",
    "rwkv": lambda n, a: f"**Tool Call:**\n```json\n{obj(n, a)}\n```",
    "solar 2": lambda n, a: (
        f"<|tool_call:start|>{n}\n"
        + each("<|tool_arg:start|>K<|tool_arg:value|>V<|tool_arg:end|>\n")(a)
        + "<|tool_call:end|>"
    ),
    "gigachat": lambda n, a: f"function call<|role_sep|>\n{obj(n, a)}",
    "gigachat token": lambda n, a: f"<|function_call|>{obj(n, a)}",
    "step audio": lambda n, a: f"<tool_call>function\n{n}\n{J(a)}</tool_call>",
    "minimax m1": lambda n, a: f"<tool_calls>\n{obj(n, a)}\n</tool_calls>",
    "phi 4 mini": lambda n, a: (
        f"<|tool_call|>[{J({'type': 'function', 'function': {'name': n, 'arguments': a}})}]<|/tool_call|>"
    ),
    "mistral call id": lambda n, a: f"[TOOL_CALLS]{n}[CALL_ID]Ab3dE6gH9[ARGS]{J(a)}",
    "kimi singular": lambda n, a: (
        f"<|tool_call_section_begin|><|tool_call_begin|>functions.{n}:0<|tool_call_argument_begin|>{J(a)}<|tool_call_end|><|tool_call_section_end|>"
    ),
    "kimi lost": lambda n, a: f"functions.{n}:0{J(a)}",
    "ds3 lost": lambda n, a: f"function{n}\n```json\n{J(a)}\n```",
    "ds3 no section": lambda n, a: (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{J(a)}\n```<｜tool▁call▁end｜>"
    ),
    "harmony start": lambda n, a: (
        f"<|start|>assistant<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{J(a)}<|call|>"
    ),
    "harmony analysis": lambda n, a: f"<|channel|>analysis to=functions.{n} code<|message|>{J(a)}<|call|>",
    "harmony role": lambda n, a: (
        f"<|start|>assistant to=functions.{n}<|channel|>commentary json<|message|>{J(a)}<|call|>"
    ),
    "llama call": lambda n, a: (
        f"<|python_tag|>{n}.call(" + ", ".join(f"{k}={v!r}" for k, v in a.items()) + ")"
    ),
    "llama eom": lambda n, a: f"<function={n}>{J(a)}</function><|eom_id|>",
    "granite 4": lambda n, a: f"<tool_call>[{J({'arguments': a, 'name': n})}]</tool_call>",
    "toolcall object": lambda n, a: f"<TOOLCALL>{obj(n, a)}</TOOLCALL>",
    "invoke bare": lambda n, a: (
        f'<invoke name="{n}">\n' + each('<parameter name="K">V</parameter>\n')(a) + "</invoke>"
    ),
    "function_calls": lambda n, a: (
        f'<function_calls>\n<invoke name="{n}">\n'
        + each('<parameter name="K">V</parameter>\n')(a)
        + "</invoke>\n</function_calls>"
    ),
    "hermes string": lambda n, a: f"<tool_call>\n{J({'name': n, 'arguments': J(a)})}\n</tool_call>",
    "ernie": lambda n, a: f"<response>\nI look.\n</response>\n\n<tool_call>\n{obj(n, a)}\n</tool_call>",
    "command plan": lambda n, a: (
        f"<|START_THINKING|>I look.<|END_THINKING|><|START_ACTION|>[\n    {J({'tool_call_id': '0', 'tool_name': n, 'parameters': a})}\n]<|END_ACTION|>"
    ),
    "spark inline": lambda n, a: (
        f"<tool_call>{n}" + each("<arg_key>K</arg_key><arg_value>V</arg_value>")(a) + "</tool_call>"
    ),
    "spaced tags": lambda n, a: f"<tool_call> {obj(n, a)} </tool_call><|im_end|>",
}
