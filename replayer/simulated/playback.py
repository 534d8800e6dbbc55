"""Plays captured exchanges back byte for byte: a request body is looked up, its captured answer sent as it was.

A folder of captures holds `NAME.request.json` beside `NAME.response.{sse,json,body,txt}`; a response without a
request answers a GET, whose path is read from the name (`get-metrics-after`, `00_v1_models`, `props.txt`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import orjson

from replayer.errors import PlanError
from replayer.simulated.http_server import Exchange

_SUFFIXES = {
    ".sse": "text/event-stream; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
_PATHS = {
    "models": "/v1/models",
    "v1_models": "/v1/models",
    "loads": "/v1/loads",
    "slots_idle": "/slots",
    "slots_busy": "/slots",
    "v1_health": "/v1/health",
}
_WHEN = re.compile(r"[-_](before|mid|after|busy|idle|final)$")


@dataclass(frozen=True, slots=True)
class Recorded:
    status: int
    content_type: str
    body: bytes
    raw: bool = False
    """The file holds a whole HTTP answer, head included."""


class Playback:
    """Answers of a GET that was captured several times are given in their captured order, the last one for ever."""

    def __init__(self, folder: str) -> None:
        self._by_body: dict[bytes, Recorded] = {}
        self._by_path: dict[str, list[Recorded]] = {}
        try:
            files = sorted(Path(folder).iterdir(), key=_order)
        except OSError as error:
            raise PlanError(f"captures {folder}: cannot be read ({error.strerror})") from None
        for path in files:
            if ".response." in path.name:
                self._add(path)
            elif path.suffix == ".txt" and path.read_bytes().startswith(b"HTTP/1."):
                whole = Recorded(200, "", path.read_bytes(), True)
                self._by_path.setdefault(_get_path(path.stem), []).append(whole)
        if not self._by_body and not self._by_path:
            raise PlanError(f"captures {folder}: no NAME.response.* file in it")

    async def answer(self, exchange: Exchange) -> None:
        recorded = self._find(exchange)
        exchange.body = bytearray()
        if recorded.raw:
            exchange.raw(recorded.body)
        elif recorded.content_type.startswith("text/event-stream"):
            exchange.start_stream()
            exchange.write(recorded.body)
            exchange.finish_stream()
        else:
            exchange.send(recorded.status, recorded.body, recorded.content_type)
        await exchange.drain()

    def _find(self, exchange: Exchange) -> Recorded:
        if exchange.method == "POST" and exchange.body:
            found = self._by_body.get(_canonical(bytes(exchange.body)))
        else:
            answers = self._by_path.get(exchange.path.partition("?")[0], [])
            found = answers.pop(0) if len(answers) > 1 else answers[0] if answers else None
        return found or Recorded(404, "application/json", b'{"detail":"Not Found"}')

    def _add(self, path: Path) -> None:
        name, _, suffix = path.name.partition(".response")
        body = path.read_bytes()
        content_type = _SUFFIXES.get(suffix, "application/json")
        if suffix == ".body" and body.startswith(b"#"):
            content_type = "text/plain; version=0.0.4"
        recorded = Recorded(_status(body), content_type, body)
        request = path.with_name(f"{name}.request.json")
        if request.exists():
            self._by_body[_canonical(request.read_bytes())] = recorded
        else:
            self._by_path.setdefault(_get_path(name), []).append(recorded)


def _order(path: Path) -> tuple[int, str]:
    when = _WHEN.search(path.name.partition(".")[0])
    rank = {"before": 0, "idle": 0, "mid": 1, "busy": 1, "after": 2, "final": 3}
    return rank.get(when.group(1), 0) if when else 0, path.name


def _get_path(name: str) -> str:
    name = re.sub(r"^(get-|post-|\d\w_)", "", name)
    return _PATHS.get(name) or "/" + _WHEN.sub("", name)


def _canonical(body: bytes) -> bytes:
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        return body


def _status(body: bytes) -> int:
    """The captures keep no status lines; error bodies say theirs."""
    try:
        data: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict):
        return 200
    if "detail" in data:
        return 405 if data["detail"] == "Method Not Allowed" else 404
    error = data.get("error", data if data.get("object") == "error" else None)
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else 200
