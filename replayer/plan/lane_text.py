"""A lane as text to copy: a table of a plan file, and an engine SPEC of the command line."""

from __future__ import annotations

import re
import shlex

import orjson

from replayer.plan.model import LanePlan
from replayer.wire.types import JsonObject

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_PLAIN = re.compile(r"[\w./:+-]*\Z")
_MADE = {"base", "setting", "exclusive", "secrets"}
"""What a matrix added, what only matters beside other lanes, and where credentials stood."""


def lane_toml(lane: JsonObject) -> str:
    """The `[[lane]]` table, without what was left at its default."""
    defaults = {
        name: field.get_default(call_default_factory=True) for name, field in LanePlan.model_fields.items()
    }
    lane = {**lane, "name": _name(lane)}
    lines = [
        f"{key} = {_toml(value)}"
        for key, value in lane.items()
        if key in defaults and key not in _MADE and value not in (None, defaults[key], [], {})
    ]
    return "\n".join(["[[lane]]", *lines])


def _name(lane: JsonObject) -> str:
    """As it was before a matrix lengthened it."""
    return str(lane.get("base") or lane["name"])


def _toml(value: object) -> str:
    if isinstance(value, dict):
        pairs = (f"{_key(key)} = {_toml(item)}" for key, item in value.items() if item is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return orjson.dumps(value).decode().replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE.match(key) else orjson.dumps(key).decode()


def lane_spec(lane: JsonObject) -> str | None:
    """`--engine NAME=URL,...`; None for a lane that only a plan file can hold (several URLs, a start command)."""
    source = lane.get("url") or lane.get("launch")
    if not source or lane.get("urls") or lane.get("command"):
        return None
    fields = {key: lane.get(key) for key in ("kind", "model", "api_key_env")}
    fields |= {**(lane.get("options") or {}), **(lane.get("sampling") or {})}
    fields |= {f"extra.{key}": value for key, value in (lane.get("extra") or {}).items()}
    fields |= {f"header.{key}": value for key, value in (lane.get("headers") or {}).items()}
    given = "".join(f",{key}={_value(value)}" for key, value in fields.items() if value not in (None, [], ()))
    return f"--engine {shlex.quote(_name(lane) + '=' + source + given)}"


def _value(value: object) -> str:
    if isinstance(value, str) and _PLAIN.match(value):
        return value
    return orjson.dumps(value).decode()
