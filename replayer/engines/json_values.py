"""Values out of a server's JSON: of the type that is asked for, else unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replayer.engines.base import Tristate
from replayer.wire.counts import count
from replayer.wire.payload import read_json
from replayer.wire.types import Json, JsonObject

if TYPE_CHECKING:
    import httpx


def parsed(reply: httpx.Response) -> Json:
    """The JSON of an answer. Raises ValueError, also for what is nested too deeply or would fill the memory."""
    return read_json(reply.content)[0]


def section(source: object, *path: str) -> JsonObject:
    """The object at a path of keys; {} where there is none."""
    for key in path:
        source = source.get(key) if isinstance(source, dict) else None
    return source if isinstance(source, dict) else {}


def text(source: JsonObject, key: str) -> str | None:
    value = source.get(key)
    return value if isinstance(value, str) else None


def whole(source: JsonObject, key: str) -> int | None:
    return count(source.get(key))


def tristate(value: object) -> Tristate:
    """None is unknown; vLLM writes booleans as words on its metrics page."""
    if value is None:
        return "unknown"
    return "yes" if value not in (False, 0, "False", "") else "no"


def known(values: JsonObject) -> JsonObject:
    """Only what the server really said."""
    return {key: value for key, value in values.items() if value is not None}
