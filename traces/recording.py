"""What the recording proxy writes: one live trace per conversation, one more for what only passes through."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from replayer import __version__
from replayer.traces.chat import Message
from replayer.traces.credentials import in_body
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.chat_log import is_request
from replayer.traces.importers.exchanges import Conversation, Exchange, ExchangeWriter, Sorter, usage_of
from replayer.traces.importers.values import loads
from replayer.traces.schema import Fidelity, Header, OpaqueItem, Source, Times
from replayer.traces.secrets import Redact
from replayer.traces.writer import TraceWriter
from replayer.wire.types import Reply

_ALL_RECORDED = Fidelity(
    system="recorded",
    tools="recorded",
    text="recorded",
    arguments="recorded",
    timing="recorded",
    usage="recorded",
    boundaries="recorded",
)
_HIDDEN = b"[redacted credential]"
_AWAKE = 32
"""Conversations whose files stay open; those that were silent longest are opened again when they go on."""
RAW_PATHS = ("/messages", "/responses", "/completions")
"""Endpoints that are kept as they passed; `/chat/completions` is the one that becomes turns."""


@dataclass(slots=True)
class Passed:
    """One exchange that went through the proxy. `wall` is when the request was sent, seconds since the epoch."""

    path: str
    request: bytes
    status: int
    reply: Reply
    wall: float
    raw: bytes = b""
    """The response body, kept for endpoints that only pass through."""
    credentials: tuple[bytes, ...] = ()
    """What the request's head carried to be let in; none of it is written."""


class Recording:
    """Sorts exchanges into conversations and writes each as it ends. Raises TraceError when a file cannot be written."""

    def __init__(
        self,
        folder: Path,
        redact: Redact | None = None,
        on_turn: Callable[[Path, int, Passed], None] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._redact, self._on_turn = folder, redact, on_turn
        self._stamp = time.strftime("%Y%m%d-%H%M%S")
        self._sorter = Sorter()
        self._count = 0
        self._open: dict[int, tuple[TraceWriter, ExchangeWriter]] = {}
        self._passing: TraceWriter | None = None
        self._hidden: tuple[bytes, ...] = ()
        self.paths: list[Path] = []

    def add(self, passed: Passed) -> None:
        """Takes one exchange whose last byte has passed."""
        self._hidden = (*passed.credentials, *in_body(passed.request))
        request = self._request(passed.request)
        if passed.path.endswith("/chat/completions") and isinstance(request, dict) and is_request(request):
            try:
                self._chat(passed, request)
            except (TypeError, ValueError, KeyError, AttributeError, IndexError):
                # A request of an unknown form must neither end the proxy nor be lost.
                self._pass(passed, request)
        elif passed.path.endswith(RAW_PATHS) or passed.path.endswith("/chat/completions"):
            self._pass(passed, request)

    def close(self) -> None:
        """Ends every trace with its end record."""
        for writer, _ in self._open.values():
            writer.close()
        if self._passing is not None:
            self._passing.close()

    def _request(self, body: bytes) -> Any:
        try:
            return loads(self._clean(body))
        except ValueError:
            return self._clean(body).decode("utf-8", "replace")

    def _clean(self, body: bytes) -> bytes:
        for value in self._hidden:
            body = body.replace(value, _HIDDEN)
        if self._redact is None:
            return body
        return self._redact(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _text(self, text: str) -> str:
        return self._clean(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _chat(self, passed: Passed, request: dict[str, Any]) -> None:
        reply = self._redacted(passed.reply)
        exchange = Exchange(
            request=request,
            reply=message_of(reply),
            usage=usage_of(reply.usage),
            times=times_of(reply, passed.wall),
            finish_reason="error" if reply.fault is not None else reply.finish_reason,
            model=reply.extra.get("model") if isinstance(reply.extra.get("model"), str) else None,
            raw=self._clean(passed.request),
        )
        conversation, thread = self._sorter.add(self._count, exchange)
        self._count += 1
        line = next(line for line in conversation.lines if line.name == thread)
        writer, turns = self._writer(conversation)
        number = turns.write(exchange, thread, line.parent_text)
        if reply.fault is not None:
            fault = {"kind": reply.fault.kind, "status": reply.fault.status, "message": reply.fault.message}
            writer.add_item(OpaqueItem(id=0, record={"failure": fault, "turn": number}))
        if self._on_turn is not None:
            self._on_turn(writer.path, number, passed)

    def _redacted(self, reply: Reply) -> Reply:
        if self._redact is None and not self._hidden:
            return reply
        calls = tuple(replace(call, arguments=self._text(call.arguments)) for call in reply.tool_calls)
        content, reasoning = self._text(reply.content), self._text(reply.reasoning)
        fault = replace(reply.fault, message=self._text(reply.fault.message)) if reply.fault else None
        return replace(reply, content=content, reasoning=reasoning, tool_calls=calls, fault=fault)

    def _writer(self, conversation: Conversation) -> tuple[TraceWriter, ExchangeWriter]:
        key = id(conversation)
        known = self._open.pop(key, None)
        if known is None:
            writer = self._trace(f"{len(self._open) + 1:03d}", conversation.title)
            known = (writer, ExchangeWriter(Builder(writer)))
        self._open[key] = known  # the last that spoke stands last
        if len(self._open) > _AWAKE:
            writer, _ = next(islice(reversed(self._open.values()), _AWAKE, None))
            writer.rest()
        return known

    def _pass(self, passed: Passed, request: Any) -> None:
        if self._passing is None:
            self._passing = self._trace("passed", "requests that only passed through")
        record = {
            "path": passed.path,
            "request": request,
            "status": passed.status,
            "response": self._clean(passed.raw).decode("utf-8", "replace"),
            "started": passed.wall,
            "seconds": (passed.reply.timing.ended - passed.reply.timing.sent) / 1e9,
        }
        self._passing.add_item(OpaqueItem(id=0, record=record))

    def _trace(self, name: str, title: str) -> TraceWriter:
        header = Header(
            trace_id=f"{self._stamp}-{name}",
            source=Source(format="record", importer=f"replayer {__version__}"),
            fidelity=_ALL_RECORDED,
            title=title or None,
        )
        path = self._folder / f"{header.trace_id}.trace.jsonl"
        self.paths.append(path)
        return TraceWriter(path, header, live=True)


def message_of(reply: Reply) -> Message | None:
    """The assistant message of a reply; None when nothing was generated."""
    if not (reply.content or reply.reasoning or reply.tool_calls):
        return None
    message: Message = {"role": "assistant", "content": reply.content or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name or "", "arguments": call.arguments},
            }
            for call in reply.tool_calls
        ]
    return message


def times_of(reply: Reply, wall: float) -> Times:
    """Seconds since the epoch; arrivals in microseconds since sending."""
    timing = reply.timing
    first = None if timing.first_token is None else wall + (timing.first_token - timing.sent) / 1e9
    return Times(
        started=wall,
        first_token=first,
        ended=wall + (timing.ended - timing.sent) / 1e9,
        arrivals=tuple(offset // 1000 for offset in timing.arrivals),
    )
