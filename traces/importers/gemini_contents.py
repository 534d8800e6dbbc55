"""Gemini's own contents, as `/chat save` of Gemini CLI keeps them (checkpoint-TAG.json): a list, or with `history`."""

from __future__ import annotations

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.pieces import content_of
from replayer.traces.importers.values import as_dict, as_list, as_str, as_text, dicts
from replayer.wire.types import JsonObject

_ABSENT = "Gemini CLI records neither system prompt nor tool definitions, and before 0.6x not the context that opens a session"
Open = list[tuple[str, str]]
"""Tool and id of each call that is not answered yet."""


def contents_of(document: object) -> list[JsonObject]:
    """The contents of a document; [] where it holds none."""
    found = dicts(document if isinstance(document, list) else as_dict(document).get("history"))
    sound = (e.get("role") in ("user", "model") and isinstance(e.get("parts"), list) for e in found)
    return found if all(sound) else []


def describe(builder: Builder) -> None:
    builder.describe(agent="gemini-cli")
    builder.warn(_ABSENT)


def write_contents(builder: Builder, contents: list[JsonObject]) -> None:
    """Each run of the model's contents is a turn."""
    describe(builder)
    builder.fidelity(usage="absent", timing="absent", boundaries="derived")
    names: Open = []
    context: list[int] = []
    produced: list[int] = []
    for entry in [*contents, {"role": "user", "parts": []}]:
        if entry["role"] == "model":
            produced += said(builder, entry, names)
            continue
        if produced:
            builder.turn(context, produced)
            context, produced = context + produced, []
        context += given(builder, entry, names)


def said(builder: Builder, entry: JsonObject, names: Open) -> list[int]:
    """The items of a content of the model; its calls join those that are open."""
    return [_said(builder, part, names) for part in _parts(entry)]


def given(builder: Builder, entry: JsonObject, names: Open) -> list[int]:
    """The items of a content that the model gets."""
    return [_given(builder, part, names) for part in _parts(entry)]


def _parts(entry: JsonObject) -> list[JsonObject]:
    return [part if isinstance(part, dict) else {"text": part} for part in as_list(entry.get("parts"))]


def _said(builder: Builder, part: JsonObject, names: Open) -> int:
    if "functionCall" in part:
        call = as_dict(part["functionCall"])
        call_id = as_str(call.get("id")) or f"call_{builder.tally.tool_calls + len(names) + 1}"
        names.append((as_str(call.get("name")), call_id))
        return builder.call(call_id, as_str(call.get("name")), as_text(call.get("args", {})))
    if part.get("thought") is True:
        return builder.reasoning(as_str(part.get("text")))
    return builder.assistant(as_str(part["text"])) if "text" in part else builder.opaque(part)


def _given(builder: Builder, part: JsonObject, names: Open) -> int:
    """A result names its call's tool at least; without an id it answers the first call of that tool still open."""
    if "functionResponse" in part:
        answer = as_dict(part["functionResponse"])
        name = as_str(answer.get("name"))
        pair = next(
            (p for p in names if p[1] == answer.get("id") or (not answer.get("id") and p[0] == name)), None
        )
        if pair:
            names.remove(pair)
        response = as_dict(answer.get("response"))
        text = as_text(response.get("output", response.get("error", answer.get("response"))))
        call_id = pair[1] if pair else as_str(answer.get("id"))
        return builder.result(call_id, text, is_error="error" in response, name=name or None)
    told = "text" in part or as_dict(part.get("inlineData"))
    return builder.user(content_of(part)) if told else builder.opaque(part)
