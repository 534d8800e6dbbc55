"""What the recording proxy writes: one live trace per conversation, one more for what only passes through."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import fields, replace
from itertools import count, islice
from pathlib import Path

from replayer import __version__
from replayer.errors import TraceError
from replayer.traces.chat import message_of
from replayer.traces.cleaning import Cleaner
from replayer.traces.credentials import in_body, without_fields
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.chat_log import is_request
from replayer.traces.importers.exchange import Exchange, from_reply
from replayer.traces.importers.exchanges import ExchangeWriter
from replayer.traces.importers.sorting import Conversation, Sorter
from replayer.traces.passing import Passed
from replayer.traces.records import RecordError
from replayer.traces.schema import Fidelity, Header, OpaqueItem, Provenance, Source, Times
from replayer.traces.secrets import Redact
from replayer.traces.storage import writing
from replayer.traces.wire_forms import entries
from replayer.traces.writer import TraceWriter
from replayer.wire.types import JsonObject, Reply, Wire

_RECORDED: Provenance = "recorded"
_ALL_RECORDED = Fidelity(**{aspect.name: _RECORDED for aspect in fields(Fidelity)})
_ODD = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)
"""What a request of an unknown form can raise."""
_AWAKE = 32
"""Conversations whose files stay open; those that were silent longest are opened again when they go on."""

_KEPT = 256
"""Conversations that may go on: of more, the one that was silent longest is over."""

OnTurn = Callable[[Path, int, Passed], object]
"""Called for every turn that was written: the trace, the turn's number, and the exchange without credentials."""


class Recording:
    """Sorts exchanges into conversations and writes each as it ends. Raises TraceError when a file cannot be written."""

    def __init__(self, folder: Path, redact: Redact | None = None, on_turn: OnTurn | None = None) -> None:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._redact, self._on_turn = folder, redact, on_turn
        self._stamp = time.strftime("%Y%m%d-%H%M%S")
        self._sorter = Sorter()
        self._count = 0
        self._open: dict[Conversation, tuple[TraceWriter, ExchangeWriter]] = {}
        self._warnings: list[tuple[Path, str]] = []
        self._begun = 0
        self._passing: TraceWriter | None = None
        self.paths: list[Path] = []

    def add(self, passed: Passed) -> None:
        """Takes one exchange whose last byte has passed."""
        cleaner = Cleaner((*passed.credentials, *in_body(passed.request)), self._redact)
        try:
            request, raw = cleaner.body(passed.request)
        except (ValueError, RecursionError):
            request, raw = _as_text(passed, cleaner), b""
        if passed.reply is not None and isinstance(request, dict) and _is_turn(request, passed.wire):
            try:
                self._turn(passed, request, raw, cleaner.reply(passed.reply))
                return
            except (*_ODD, RecordError):
                pass  # It must neither end the proxy nor be lost.
        self._pass(passed, request, cleaner)

    def warnings(self) -> Iterator[tuple[Path, str]]:
        """What was noticed while the traces were written."""
        yield from self._warnings
        for writer, turns in self._open.values():
            for warning in turns.builder.warnings:
                yield writer.path, warning

    def close(self) -> None:
        """Ends every trace with its end record; of those that cannot be ended the first is raised."""
        writers = [writer for writer, _ in self._open.values()] + ([self._passing] if self._passing else [])
        with ExitStack() as ending:
            for writer in writers:
                ending.callback(writer.close)

    def _turn(self, passed: Passed, request: JsonObject, raw: bytes, reply: Reply) -> None:
        times = times_of(reply, passed.wall)
        exchange = from_reply(Exchange(request=request, raw=raw, times=times, wire=passed.wire), reply)
        if reply.fault is not None:
            exchange.finish_reason = "error"
        conversation, thread = self._sorter.add(self._count, exchange)
        self._count += 1
        line = conversation.line(thread)
        writer, turns = self._writer(conversation)
        number = turns.write(exchange, thread, line.parent_text)
        if reply.fault is not None:
            fault = {key: getattr(reply.fault, key) for key in ("kind", "status", "message")}
            if passed.retry_after is not None:
                fault["retry_after"] = passed.retry_after
            writer.add_item(OpaqueItem(id=0, record={"failure": fault, "turn": number}))
        if self._on_turn is not None:
            self._on_turn(writer.path, number, replace(passed, reply=reply))

    def _writer(self, conversation: Conversation) -> tuple[TraceWriter, ExchangeWriter]:
        known = self._open.pop(conversation, None)
        if known is None:
            self._begun += 1
            writer = self._trace(f"{self._begun:03d}", conversation.title)
            known = (writer, ExchangeWriter(Builder(writer)))
        self._open[conversation] = known  # the last that spoke stands last
        if len(self._open) > _KEPT:
            self._end(next(iter(self._open)))
        if len(self._open) > _AWAKE:
            writer, _ = next(islice(reversed(self._open.values()), _AWAKE, None))
            writer.rest()
        return known

    def _end(self, conversation: Conversation) -> None:
        writer, turns = self._open.pop(conversation)
        self._warnings += [(writer.path, warning) for warning in turns.builder.warnings]
        self._sorter.forget(conversation)
        writer.close()

    def _pass(self, passed: Passed, request: object, cleaner: Cleaner) -> None:
        if self._passing is None:
            self._passing = self._trace("passed", "requests that only passed through")
        failed = passed.status >= 400 or passed.status == 0
        record = {
            "path": cleaner.error(passed.path),
            "request": request,
            "status": passed.status,
            "response": cleaner.stream(passed.raw.decode("utf-8", "replace"), failed),
            "started": passed.wall,
            "seconds": passed.seconds,
            "arrivals": passed.arrivals,
        }
        if passed.reply is not None:
            record["reply"] = message_of(cleaner.reply(passed.reply))
        if passed.broken is not None:
            record["broken"] = cleaner.error(passed.broken)
        try:
            self._passing.add_item(OpaqueItem(id=0, record=record))
        except RecordError:  # JSON that is nested too deep to be written again
            record["request"] = _as_text(passed, cleaner)
            self._passing.add_item(OpaqueItem(id=0, record=record))

    def _trace(self, name: str, title: str) -> TraceWriter:
        path = self._new_file(name)
        header = Header(
            trace_id=path.name.removesuffix(".trace.jsonl"),
            source=Source(format="record", importer=f"replayer {__version__}"),
            fidelity=_ALL_RECORDED,
            title=title or None,
        )
        try:
            writer = TraceWriter(path, header, live=True)
        except TraceError:
            path.unlink(missing_ok=True)
            raise
        self.paths.append(path)
        return writer

    def _new_file(self, name: str) -> Path:
        """A name that no other recorder of this folder has, or had."""
        for number in count(1):
            again = f"-{number}" if number > 1 else ""
            path = self._folder / f"{self._stamp}-{name}{again}.trace.jsonl"
            with writing(path), suppress(FileExistsError):
                path.touch(exist_ok=False)
                break
        return path


def _is_turn(request: JsonObject, wire: Wire) -> bool:
    """Whether a request of an endpoint has the form of that endpoint."""
    if wire == "responses":
        return isinstance(request.get("input"), (str, list)) and bool(entries(request, wire))
    return is_request(request)


def _as_text(passed: Passed, cleaner: Cleaner) -> str:
    """A request that is no JSON, or none that can be written again."""
    return cleaner.text(without_fields(passed.request).decode("utf-8", "replace"))


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
