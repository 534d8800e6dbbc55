"""Request fields between the wires: what a lane, a plan or a recording asks for, by chat's names and by each wire's.

Inside, fields have chat's names; what one wire does not have is left out there. A field that is on no list passes:
engines have more of them than their APIs.
"""

from __future__ import annotations

from collections.abc import Mapping

from replayer.tools.verdicts.request_facts import tool_choice_of
from replayer.traces.schema import Turn
from replayer.wire.types import JsonObject

_NOT_ON_MESSAGES = frozenset(
    {"stream_options", "n", "reasoning_effort", "response_format", "parallel_tool_calls"}
)
_NOT_ON_RESPONSES = frozenset({"stream_options", "n", "stop"})
_OF_ENGINES_CHAT = frozenset({"return_cached_tokens_details", "return_token_ids", "timings_per_token"})
"""What adapters ask of chat for better truth."""
_ON_EVERY_WIRE = frozenset({"temperature", "top_p", "tool_choice", "response_format"})


def for_messages(given: Mapping[str, object]) -> JsonObject:
    """Fields by the names of Messages."""
    stop = given.get("stop")
    changed: JsonObject = {
        "max_completion_tokens": ("max_tokens", given.get("max_completion_tokens")),
        "stop": ("stop_sequences", [stop] if isinstance(stop, str) else stop),
        "tool_choice": ("tool_choice", _messages_choice(given.get("tool_choice"))),
    }
    gone = _NOT_ON_MESSAGES | _OF_ENGINES_CHAT
    return dict(changed.get(key, (key, value)) for key, value in given.items() if key not in gone)


def for_responses(given: Mapping[str, object]) -> JsonObject:
    """Fields by the names of Responses."""
    changed: JsonObject = {
        "max_tokens": ("max_output_tokens", given.get("max_tokens")),
        "max_completion_tokens": ("max_output_tokens", given.get("max_completion_tokens")),
        "reasoning_effort": ("reasoning", {"effort": given.get("reasoning_effort")}),
        "tool_choice": ("tool_choice", _responses_choice(given.get("tool_choice"))),
        "response_format": ("text", {"format": _format(given.get("response_format"))}),
    }
    gone = _NOT_ON_RESPONSES | _OF_ENGINES_CHAT
    return dict(changed.get(key, (key, value)) for key, value in given.items() if key not in gone)


def asked_by(turn: Turn) -> JsonObject:
    """What a recorded turn asked for, by chat's names."""
    params = turn.params
    if turn.body is None or turn.body.wire == "chat":
        return params
    found: JsonObject = {key: params[key] for key in ("temperature", "top_p", "max_tokens") if key in params}
    if "max_output_tokens" in params:
        found["max_tokens"] = params["max_output_tokens"]
    if "tool_choice" in params:
        found["tool_choice"] = tool_choice_of(params["tool_choice"])
    text = params.get("text")
    if isinstance(text, dict) and isinstance(text.get("format"), dict):
        form = text["format"]
        if form.get("type") == "json_schema":
            found["response_format"] = {"type": "json_schema", "json_schema": form}
    return found


def asked_on_another_wire(turn: Turn) -> JsonObject:
    """What a recorded turn asked for that every wire has; its limit of tokens is the client's, not the turn's."""
    return {key: value for key, value in asked_by(turn).items() if key in _ON_EVERY_WIRE}


def _messages_choice(value: object) -> object:
    if isinstance(value, str):
        return {"type": "any" if value == "required" else value}
    name = _name(value)
    return {"type": "tool", "name": name} if name else value


def _responses_choice(value: object) -> object:
    name = _name(value)
    return {"type": "function", "name": name} if name else value


def _name(value: object) -> object:
    function = value.get("function") if isinstance(value, dict) else None
    return function.get("name") if isinstance(function, dict) else None


def _format(value: object) -> object:
    schema = value.get("json_schema") if isinstance(value, dict) else None
    return {"type": "json_schema", **schema} if isinstance(schema, dict) else value
