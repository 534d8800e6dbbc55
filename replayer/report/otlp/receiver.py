"""Where OTLP goes: a file of lines that collectors read, or a receiver over HTTP."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self
from urllib.parse import unquote

import httpx
import orjson

from replayer.errors import EngineUnavailable, MissingPartError
from replayer.report.saving import write
from replayer.wire.credentials import without_login
from replayer.wire.types import Json

Signal = Literal["traces", "metrics"]
_REFUSED = 415
"""From a receiver that reads protobuf only."""
_NOT_HERE = (404, 405, 501)
"""From a receiver that takes spans and no metrics."""
_LATER = (408, 429, 502, 503, 504)
"""May take it when asked again (OTLP/HTTP)."""
_IDS = ("traceId", "spanId", "parentSpanId")


def export(found: Iterable[bytes], target: str, signal: Signal) -> str:
    """To a URL or a file; says where, nothing where a receiver takes no such signal. Metrics are a file of their own. Raises ReplayerError."""
    if not is_url(target):
        path = Path(target)
        path = path if signal == "traces" else path.with_suffix(f".metrics{path.suffix}")
        write(path, b"\n".join([*found, b""]))
        return str(path)
    with Receiver(target, signal) as receiver:
        for line in found:
            receiver.post(line)
        return receiver.url if receiver.is_taken else ""


def is_url(target: str) -> bool:
    return target.startswith(("http://", "https://"))


class Refused(EngineUnavailable):
    """The receiver is there and does not want this: asked again, it will not either."""


class Receiver:
    """Takes JSON, or protobuf from where it refuses JSON on. `target` is its base, or where it takes spans."""

    def __init__(self, target: str, signal: Signal, timeout: float = 30) -> None:
        self._address = f"{target.rstrip('/').removesuffix('/v1/traces')}/v1/{signal}"
        self.url = without_login(self._address)
        self._signal, self._binary, self.is_taken = signal, False, True
        self._client = httpx.Client(headers=_headers(), timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def post(self, line: bytes) -> None:
        """An export request as JSON. Raises EngineUnavailable, MissingPartError."""
        try:
            answer = self._send(line)
            if answer.status_code == _REFUSED and not self._binary:
                self._binary = True
                answer = self._send(line)
            if self._signal == "metrics" and answer.status_code in _NOT_HERE:
                self.is_taken = False
                return
            body = answer.raise_for_status().content
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            words = f"the OTLP receiver at {self.url} took no {self._signal}: {str(error).replace(self._address, self.url)}"
            refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code not in _LATER
            raise (Refused if refused else EngineUnavailable)(words) from None
        if not self._binary:
            self._check(body)

    def _send(self, line: bytes) -> httpx.Response:
        kind = "application/x-protobuf" if self._binary else "application/json"
        content = _protobuf(line, self._signal) if self._binary else line
        return self._client.post(self._address, content=content, headers={"Content-Type": kind})

    def _check(self, body: bytes) -> None:
        """A receiver answers 200 even where it drops spans."""
        try:
            partial = orjson.loads(body or b"{}").get("partialSuccess") or {}
            dropped = int(partial.get("rejectedSpans") or partial.get("rejectedDataPoints") or 0)
            why = partial.get("errorMessage", "")
        except (ValueError, AttributeError, TypeError):  # not the answer of the protocol
            return
        if dropped:
            raise EngineUnavailable(
                f"the OTLP receiver at {self.url} dropped {dropped} {self._signal}: {why}"
            )


def _headers() -> dict[str, str]:
    """As every OTLP exporter takes them: `OTEL_EXPORTER_OTLP_HEADERS=key=value,key=value`."""
    pairs = (part.partition("=") for part in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    return {key.strip(): unquote(value.strip()) for key, equals, value in pairs if equals}


def _protobuf(line: bytes, signal: Signal) -> bytes:
    try:
        from google.protobuf.json_format import ParseDict
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        words = "the OTLP receiver reads protobuf only: run `pip install 'agent-replayer[otel]'`"
        raise MissingPartError(words) from None
    request = ExportTraceServiceRequest() if signal == "traces" else ExportMetricsServiceRequest()
    found: bytes = ParseDict(_with_base64(orjson.loads(line)), request).SerializeToString()
    return found


def _with_base64(value: Json) -> Json:
    """OTLP's JSON has hexadecimal ids where protobuf's own has base64."""
    if isinstance(value, list):
        return [_with_base64(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: b64encode(bytes.fromhex(inner)).decode() if key in _IDS else _with_base64(inner)
        for key, inner in value.items()
    }
