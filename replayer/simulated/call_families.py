"""How each family of models writes a tool call: what leaks into the text when an engine's parser fails.

The forms are those of the families' own chat templates; Hermes is the captured one
(`vllm-0.32-cpu/plain/tool-auto-forced-*`).
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class Family:
    """`call` holds the name and the arguments as they came, or a `row` for each parameter."""

    call: str
    row: str = ""
    between: str = ""

    def write(self, name: str, arguments: str) -> str:
        rows = self.between.join(
            self.row % {"key": key, "value": _text(value), "is_text": str(isinstance(value, str)).lower()}
            for key, value in _parameters(arguments).items()
        )
        return self.call % {"name": name, "arguments": arguments, "rows": rows}


def _parameters(arguments: str) -> JsonObject:
    try:
        parsed = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {"arguments": arguments}
    return parsed if isinstance(parsed, dict) else {"value": parsed}


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


FAMILIES = {
    "hermes": Family('<tool_call>\n{"name": "%(name)s", "arguments": %(arguments)s}\n</tool_call>'),
    "qwen_xml": Family(
        "<tool_call>\n<function=%(name)s>\n%(rows)s</function>\n</tool_call>",
        row="<parameter=%(key)s>\n%(value)s\n</parameter>\n",
    ),
    "mistral": Family('[TOOL_CALLS] [{"name": "%(name)s", "arguments": %(arguments)s}]'),
    "llama": Family('<|python_tag|>{"name": "%(name)s", "parameters": %(arguments)s}<|eom_id|>'),
    "kimi": Family(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.%(name)s:0<|tool_call_argument_begin|>"
        "%(arguments)s<|tool_call_end|><|tool_calls_section_end|>"
    ),
    "deepseek": Family(
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="%(name)s">\n'
        "%(rows)s</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        row='<｜DSML｜parameter name="%(key)s" string="%(is_text)s">%(value)s</｜DSML｜parameter>\n',
    ),
    "minimax": Family(
        '<minimax:tool_call>\n<invoke name="%(name)s">\n%(rows)s</invoke>\n</minimax:tool_call>',
        row='<parameter name="%(key)s">%(value)s</parameter>\n',
    ),
    "gemma": Family(
        "<|tool_call>call:%(name)s{%(rows)s}<tool_call|>", row='%(key)s:<|"|>%(value)s<|"|>', between=","
    ),
    "harmony": Family(
        "<|start|>assistant<|channel|>commentary to=functions.%(name)s "
        "<|constrain|>json<|message|>%(arguments)s<|call|>"
    ),
    "glm": Family(
        "<tool_call>%(name)s\n%(rows)s</tool_call>",
        row="<arg_key>%(key)s</arg_key>\n<arg_value>%(value)s</arg_value>\n",
    ),
}
