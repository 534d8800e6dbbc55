"""Reading values of foreign JSON without trusting their types."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import orjson

from replayer.wire.types import JsonObject

Json = Any
TOO_DEEP = "nested too deeply"


def as_dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def dicts(value: Json) -> list[JsonObject]:
    """The objects of a list; everything else is left out."""
    return [part for part in as_list(value) if isinstance(part, dict)]


def as_str(value: Json, default: str = "") -> str:
    return value if isinstance(value, str) else default


def opt_str(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def as_int(value: Json) -> int | None:
    """A whole number, also where it was written as text; None for anything else."""
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 20:
        return int(value)
    return None


def as_text(value: Json) -> str:
    """Text as it is; any other value as compact JSON; None as nothing."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(value)


def epoch(value: Json) -> float | None:
    """Seconds since the epoch from RFC 3339 text or a number in s, ms, us or ns; None where it is none."""
    if isinstance(value, str):
        if value.isdecimal():
            return epoch(int(value)) if len(value) < 25 else None
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e20:
        return None
    number = float(value)
    while number > 1e11:
        number /= 1000
    return number


def _from_text(value: str) -> float | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


def loads(data: bytes | str) -> Json:
    """JSON as any tool writes it: NaN, infinities, numbers of any size and lone surrogates too. Raises ValueError.

    What is not a number becomes null, a whole number beyond 64 bits a float, a lone surrogate a question mark.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        value = json.loads(data, parse_constant=lambda _: None, parse_float=_float, parse_int=_whole)
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except UnicodeDecodeError as error:
        raise ValueError(str(error)) from None


def _float(text: str) -> float | None:
    value = float(text)
    return value if isfinite(value) else None


def _whole(text: str) -> int | float | None:
    value = int(text) if len(text) <= 20 else None
    return value if value is not None and -(2**63) <= value < 2**64 else _float(text)


def compact(value: Json) -> str:
    """JSON text of a value, as clients that re-serialise write it."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested deeper than orjson writes, though not than it reads
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def parsed(value: Json) -> Json:
    """A value that some tools store as JSON text: parsed where it is such text, else as it is."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return loads(value)
        except ValueError:
            return value
    return value
