"""`--set KEY=VALUE`: one value of a plan, from the command line."""

from __future__ import annotations

import copy
import tomllib

from replayer.errors import PlanError
from replayer.wire.credentials import without_secrets
from replayer.wire.types import JsonObject


def assign(values: JsonObject, text: str) -> None:
    """Set a dotted key in the values of a plan; under an array of tables (`lane`, `workload`) in each of them.

    The value is TOML, or a string where it is none. Raises PlanError.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise PlanError(
            f"--set {without_secrets(text)!r} is not KEY=VALUE, for example --set workload.sessions=4"
        )
    head, dot, rest = key.partition(".")
    values[head] = _changed(values.get(head), rest, _parsed(value), text) if dot else _parsed(value)


def _parsed(value: str) -> object:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _changed(old: object, key: str, value: object, text: str) -> object:
    """`old` with `key` set. The keys of a matrix are dotted themselves, and taken whole."""
    if isinstance(old, list):
        return [_changed(entry, key, value, text) for entry in old]
    if old is not None and not isinstance(old, dict):
        raise PlanError(f"--set {without_secrets(text)!r}: there is no table to set {key!r} in")
    changed = copy.copy(old) if old else {}
    head, dot, rest = key.partition(".")
    if dot and isinstance(changed.get(head), dict):
        changed[head] = _changed(changed[head], rest, value, text)
    else:
        changed[key] = value
    return changed
