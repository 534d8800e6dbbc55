"""Sends a run's spans and metrics while it goes on, from a process of its own (`exporter` starts it) that reads the journal.

The run does not know of it: a slow or dead receiver costs the run nothing, and what was not delivered can be sent
afterwards from the journal (`report --otlp`), with the same ids. Prints at most one line, the warning.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from replayer.errors import ReplayerError
from replayer.journal.events import RunStarted, SessionStarted
from replayer.journal.log import Reading, writer_pid
from replayer.journal.parts import JOURNAL, journal_of, parts
from replayer.journal.view import Fold
from replayer.report.otlp.content import Content
from replayer.report.otlp.form import lines
from replayer.report.otlp.metrics import request
from replayer.report.otlp.receiver import Receiver, Refused, Signal
from replayer.report.otlp.spans import RunSpans, resource
from replayer.run.metrics_page import MetricsPage
from replayer.wire.credentials import without_secrets
from replayer.wire.types import JsonObject

_EVERY_S = 1.0
_METRICS_EVERY_S = 10.0
_TIMEOUT_S = 5.0
_RETRY_S = 10.0
_NOTHING = b'{"resourceSpans":[]}'
"""Asks whether the receiver is there."""
_MOST_PENDING = 64
"""Batches (at most 3 MiB each) that wait for a receiver that does not answer; then the oldest go."""


class _Tail:
    """The spans of what is new in a journal. What an earlier process of the run wrote is only read."""

    def __init__(self, folder: Path, content: bool) -> None:
        self.folder, self._content = folder, content
        self.fold, self.page = Fold(), MetricsPage()
        self._spans: RunSpans | None = None
        self._reading = Reading(folder)
        journals = {part: journal_of(folder, part) for part in parts(folder)}
        self._old = {part: path.stat().st_size for part, path in journals.items() if path.exists()}

    @property
    def started(self) -> bool:
        return self._spans is not None

    def resource(self) -> dict[str, object]:
        return resource(self.folder.name, self.fold.opening.plan if self.fold.opening else {})

    def new(self) -> Iterator[JsonObject]:
        if not (self.folder / JOURNAL).exists():
            return
        for event, line in self._reading.events():
            self.fold.apply(event, line)
            if isinstance(event, RunStarted):
                content = Content(self.folder, event.plan) if self._content else None
                self._spans = RunSpans(self.folder.name, event.wall, content)
            if line.offset < self._old.get(line.part, 0) or self._spans is None:
                continue
            if isinstance(event, SessionStarted):
                attempt = self.fold.attempt(event.session, event.attempt)
                self._spans.open(event.lane, self.fold.lanes[event.lane], attempt)
            self.page.event(event)
            yield from self._spans.take(event.model_dump())
        if self._spans is not None:
            yield from self._spans.judged()

    def last(self) -> Iterator[JsonObject]:
        if self._spans is not None:
            finished = self.fold.finished
            code = finished.exit_code if finished else None
            yield from self._spans.rest("finished" if finished else "interrupted", code)

    def metrics(self) -> bytes:
        start = int((self.fold.opening.wall if self.fold.opening else 0.0) * 1e9)
        return request(self.page, (start, start + self.fold.last_at), self.resource())


class _Outbox:
    """Batches in the order in which they were made, until the receiver took them."""

    def __init__(self, url: str, signal: Signal) -> None:
        self._receiver = Receiver(url, signal, _TIMEOUT_S)
        self.pending: deque[bytes] = deque(maxlen=_MOST_PENDING)
        self.trouble = ""
        """Why the receiver did not take one of them; empty while it took all."""
        self._again = 0.0

    def send(self, more: Iterable[bytes], *, now: bool = False) -> None:
        for line in more:
            if len(self.pending) == _MOST_PENDING:
                self.trouble = self.trouble or f"{self._receiver.url} is too slow"
            self.pending.append(line)
        while self.pending and (now or time.monotonic() >= self._again):
            try:
                self._receiver.post(self.pending[0])
            except Refused as error:
                self.trouble = str(error)
            except ReplayerError as error:
                self.trouble, self._again, now = str(error), time.monotonic() + _RETRY_S, False
                continue
            self.pending.popleft()


def main() -> None:
    os.nice(19)
    folder, url, *content = sys.argv[1:]
    tail = _Tail(Path(folder), bool(content))
    spans, metrics = _Outbox(url, "traces"), _Outbox(url, "metrics")
    spans.send([_NOTHING])
    warned = spans.trouble
    _warn(warned, folder, url)
    spans.pending.clear()
    try:
        _follow(tail, spans, metrics)
    except ReplayerError as error:
        spans.trouble = str(error)
    if not warned and (trouble := spans.trouble or metrics.trouble):
        _warn(trouble, folder, url)


def _warn(trouble: str, folder: str, url: str) -> None:
    """The parent waits for the first line: an empty one where there is nothing to say."""
    remedy = f"the run goes on; `replayer report {folder} --otlp {without_secrets(url)}` sends afterwards what is missing"
    print(f"--otel: {trouble}; {remedy}" if trouble else "", flush=True)


def _follow(tail: _Tail, spans: _Outbox, metrics: _Outbox) -> None:
    due = 0.0
    while not _is_over(tail.folder):
        spans.send(lines(tail.new(), tail.resource()))
        if tail.started and time.monotonic() >= due:
            due = time.monotonic() + _METRICS_EVERY_S
            metrics.pending.clear()
            metrics.send([tail.metrics()])
    spans.send(lines(chain(tail.new(), tail.last()), tail.resource()), now=True)
    if tail.started:
        metrics.pending.clear()
        metrics.send([tail.metrics()], now=True)


def _is_over(folder: Path) -> bool:
    """Waits a moment. Nobody writes the run, and whoever started it is done with it or gone."""
    done = bool(select.select([sys.stdin], [], [], _EVERY_S)[0])
    if done and writer_pid(folder) is not None:
        time.sleep(_EVERY_S)
        return False
    return done


if __name__ == "__main__":
    main()
