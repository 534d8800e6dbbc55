"""Lines of older journals in today's words, one converter per schema number."""

from __future__ import annotations

import orjson

from replayer.wire.types import JsonObject

_TYPES = {
    "cell_started": "session_started",
    "cell_finished": "session_finished",
    "step_started": "turn_started",
    "step_finished": "turn_finished",
}
_KEYS = {
    "session": "tag",
    "cell": "session",
    "turn": "recorded_turn",
    "step": "turn",
    "steps": "turns",
    "cells_left": "sessions_left",
}
"""Schema 1 said cell for session and step for turn; `session` and `turn` meant other things."""
_MARKS = ("cell", "step", "steps", "cells_left")


def modern(values: JsonObject) -> JsonObject:
    """A line's values in the words of the present schema, without its seal; the same object where it has them already."""
    values.pop("seq", None), values.pop("crc", None)
    if not any(mark in values for mark in _MARKS):
        return values
    renamed = {_KEYS.get(key, key): value for key, value in values.items()}
    renamed["type"] = _TYPES.get(renamed["type"], renamed["type"])
    return renamed


def loads(line: bytes) -> JsonObject:
    """One journal line as plain values. Raises orjson.JSONDecodeError; a line that is not an object is empty."""
    values = orjson.loads(line)
    return modern(values) if isinstance(values, dict) else {}
