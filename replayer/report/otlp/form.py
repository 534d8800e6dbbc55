"""The OTLP/JSON form of spans."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import orjson

from replayer import __version__
from replayer.wire.types import JsonObject

INTERNAL, CLIENT = 1, 3
_ERROR = 2
_SPANS_A_LINE = 256
"""Collectors refuse messages of more than a few MiB."""
_MOST_BYTES = 3 << 20


def span_id(*parts: object) -> str:
    """The same for the same run, so that a second export adds nothing."""
    return _digest(parts)[:16]


def trace_id(*parts: object) -> str:
    return _digest(parts)[:32]


def _digest(parts: tuple[object, ...]) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()


def attributes(values: Mapping[str, object]) -> list[JsonObject]:
    """What is unknown (None) has no attribute."""
    return [{"key": key, "value": _any(value)} for key, value in values.items() if value is not None]


def _any(value: object) -> JsonObject:
    """A value as OTLP's `AnyValue`; integers are text there, and what is neither plain nor a list is JSON text."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": _clean(value)}
        case list() | tuple() if all(isinstance(part, str | int | float) for part in value):
            return {"arrayValue": {"values": [_any(part) for part in value]}}
        case _:
            return {"stringValue": orjson.dumps(value).decode()}


def _clean(text: str) -> str:
    """A lone surrogate is no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def event(name: str, at: int, values: Mapping[str, object]) -> JsonObject:
    """`at`: nanoseconds since the epoch."""
    return {"name": name, "timeUnixNano": str(at), "attributes": attributes(values)}


def span(
    trace: str,
    own: str,
    parent: str | None,
    name: str,
    kind: int,
    times: tuple[int, int],
    values: Mapping[str, object],
    *,
    error: str | None = None,
    events: Iterable[JsonObject] = (),
) -> JsonObject:
    """`times`: start and end in nanoseconds since the epoch. `error` names what went wrong."""
    found: JsonObject = {
        "traceId": trace,
        "spanId": own,
        "name": _clean(name),
        "kind": kind,
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(max(times)),
        "attributes": attributes({**values, "error.type": error}),
    }
    if parent is not None:
        found["parentSpanId"] = parent
    if listed := list(events):
        found["events"] = listed
    if error is not None:
        found["status"] = {"code": _ERROR}
    return found


def origin_of(resource: Mapping[str, object]) -> tuple[JsonObject, JsonObject]:
    """What an export says of where it comes from: resource and scope."""
    values = {"service.name": "replayer", "service.version": __version__, **resource}
    return {"attributes": attributes(values)}, {"name": "replayer", "version": __version__}


def lines(spans: Iterable[JsonObject], resource: Mapping[str, object]) -> Iterator[bytes]:
    """Each an `ExportTraceServiceRequest`."""
    about, scope = origin_of(resource)
    encoded = map(orjson.dumps, spans)
    head, tail = orjson.dumps(
        {"resourceSpans": [{"resource": about, "scopeSpans": [{"scope": scope, "spans": ["@"]}]}]}
    ).rsplit(b'"@"', 1)
    while batch := list(_batch(encoded)):
        yield head + b",".join(batch) + tail


def _batch(encoded: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for one in islice(encoded, _SPANS_A_LINE):
        yield one
        size += len(one)
        if size > _MOST_BYTES:
            return
