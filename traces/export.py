"""Native traces as other tools read them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from replayer.errors import TraceError
from replayer.traces.reader import Trace

Exporter = Callable[[Trace, str | None], Iterator[bytes]]


def to_openai(trace: Trace, thread: str | None) -> Iterator[bytes]:
    """One chat request per turn, as JSON lines: `model`, `messages`, `tools` and the recorded parameters."""
    # The dialects live in the core, which imports the traces; the other way only here, when it runs.
    from replayer.history import RecordedHistory

    history = RecordedHistory(trace, thread=thread or "main")
    for turn in history.turns:
        record = trace.turns[turn]
        request = history.request(turn, {"model": record.model or "unknown", **record.params}, stream=True)
        yield b"".join(request.body) + b"\n"


EXPORTS: dict[str, Exporter] = {"openai": to_openai}


def export(trace: Trace, to: str, out: Path | None, thread: str | None = None) -> None:
    """Writes to a file or to stdout. Raises TraceError when the file cannot be written."""
    chunks = EXPORTS[to](trace, thread)
    if out is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    try:
        with out.open("wb") as file:
            file.writelines(chunks)
    except OSError as error:
        raise TraceError(f"{out}: cannot be written ({error.strerror or error})") from None
