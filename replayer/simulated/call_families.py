"""How each family of models writes a tool call: what leaks into the text when an engine's parser fails.

The forms are those of the families' own chat templates; Hermes is the captured one
(`vllm-0.32-cpu/plain/tool-auto-forced-*`).
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from replayer.wire.types import JsonObject


def _arguments(arguments: str) -> JsonObject:
    try:
        parsed = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {"arguments": arguments}
    return parsed if isinstance(parsed, dict) else {"value": parsed}


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _hermes(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def _qwen_xml(name: str, arguments: str) -> str:
    rows = "".join(
        f"<parameter={key}>\n{_text(value)}\n</parameter>\n" for key, value in _arguments(arguments).items()
    )
    return f"<tool_call>\n<function={name}>\n{rows}</function>\n</tool_call>"


def _mistral(name: str, arguments: str) -> str:
    return f'[TOOL_CALLS] [{{"name": "{name}", "arguments": {arguments}}}]'


def _llama(name: str, arguments: str) -> str:
    return f'<|python_tag|>{{"name": "{name}", "parameters": {arguments}}}<|eom_id|>'


def _kimi(name: str, arguments: str) -> str:
    return (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>"
        f"{arguments}<|tool_call_end|><|tool_calls_section_end|>"
    )


def _deepseek(name: str, arguments: str) -> str:
    rows = "".join(
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{_text(value)}'
        "</｜DSML｜parameter>\n"
        for key, value in _arguments(arguments).items()
    )
    return f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{name}">\n{rows}</｜DSML｜invoke>\n</｜DSML｜function_calls>'


def _minimax(name: str, arguments: str) -> str:
    rows = "".join(
        f'<parameter name="{key}">{_text(value)}</parameter>\n'
        for key, value in _arguments(arguments).items()
    )
    return f'<minimax:tool_call>\n<invoke name="{name}">\n{rows}</invoke>\n</minimax:tool_call>'


def _gemma(name: str, arguments: str) -> str:
    inner = ",".join(f'{key}:<|"|>{_text(value)}<|"|>' for key, value in _arguments(arguments).items())
    return f"<|tool_call>call:{name}{{{inner}}}<tool_call|>"


def _harmony(name: str, arguments: str) -> str:
    return f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"


def _glm(name: str, arguments: str) -> str:
    rows = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{_text(value)}</arg_value>\n"
        for key, value in _arguments(arguments).items()
    )
    return f"<tool_call>{name}\n{rows}</tool_call>"


FAMILIES: dict[str, Callable[[str, str], str]] = {
    "hermes": _hermes,
    "qwen_xml": _qwen_xml,
    "mistral": _mistral,
    "llama": _llama,
    "kimi": _kimi,
    "deepseek": _deepseek,
    "minimax": _minimax,
    "gemma": _gemma,
    "harmony": _harmony,
    "glm": _glm,
}
