"""The OTLP/JSON form of spans, and where they go: a file of lines that collectors read, or a receiver over HTTP."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

import orjson

from replayer import __version__
from replayer.errors import EngineUnavailable
from replayer.report.saving import write
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


def lines(spans: Iterable[JsonObject], resource: Mapping[str, object]) -> Iterator[bytes]:
    """Each an `ExportTraceServiceRequest`."""
    about = {
        "attributes": attributes({"service.name": "replayer", "service.version": __version__, **resource})
    }
    scope = {"name": "replayer", "version": __version__}
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


def export(found: Iterable[bytes], target: str) -> None:
    """To a URL or a file. Raises EngineUnavailable, ReplayerError."""
    if target.startswith(("http://", "https://")):
        _post(found, target)
    else:
        write(Path(target), b"\n".join([*found, b""]))


def _post(found: Iterable[bytes], target: str) -> None:
    import httpx  # late: a file needs none

    url = target if urlsplit(target).path.strip("/") else target.rstrip("/") + "/v1/traces"
    try:
        with httpx.Client(headers=_headers(), timeout=30) as client:
            for line in found:
                _check(client.post(url, content=line).raise_for_status().content, url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EngineUnavailable(f"the OTLP receiver at {url} took no spans: {error}") from None


def _headers() -> dict[str, str]:
    """As every OTLP exporter takes them: `OTEL_EXPORTER_OTLP_HEADERS=key=value,key=value`."""
    pairs = (part.partition("=") for part in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    given = {key.strip(): unquote(value.strip()) for key, equals, value in pairs if equals}
    return {"Content-Type": "application/json", **given}


def _check(body: bytes, url: str) -> None:
    """A receiver answers 200 even where it drops spans."""
    try:
        partial = orjson.loads(body or b"{}").get("partialSuccess") or {}
    except (orjson.JSONDecodeError, AttributeError):
        return
    if int(partial.get("rejectedSpans") or 0):
        raise EngineUnavailable(
            f"the OTLP receiver at {url} dropped {partial['rejectedSpans']} spans: {partial.get('errorMessage', '')}"
        )
