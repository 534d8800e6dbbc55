"""Tables whose rows each hold a whole session file as text (trace-commons): each is read by its own content."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from replayer.errors import TraceError
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.parquet import SESSION_COLUMNS
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_str
from replayer.traces.schema import Fidelity


class Embedded(Importer):
    format = "embedded"
    fidelity = Fidelity()

    def matches(self, probe: Probe) -> bool:
        return any(_text(record) for record in probe.head[:8])

    def sessions(self, probe: Probe) -> Iterator[Session]:
        for number, (key, record) in enumerate(probe.located(), start=1):
            if _text(record):
                name = as_str(as_dict(record).get("session_id")) or f"row-{number}"
                yield Session(partial(_write, probe, key, name), name=name, key=name)


def _text(record: object) -> str:
    """The session file that a row holds: JSON lines, several of them, or one document."""
    found = (as_str(as_dict(record).get(column)) for column in SESSION_COLUMNS)
    return next((text for text in found if text.lstrip()[:1] == "{"), "")


def _write(probe: Probe, key: int, name: str, builder: Builder) -> None:
    with tempfile.TemporaryDirectory(prefix="replayer-") as folder:
        path = Path(folder, f"{probe.path.name}-{name[:40]}.jsonl".replace("/", "-"))
        path.write_text(_text(probe.record_at(key)), "utf-8", "replace")
        with closing(Probe(path)) as inner:
            _import(builder, inner)


def _import(builder: Builder, inner: Probe) -> None:
    from replayer.traces.importers import importers  # this importer is one of them

    importer = next((i for i in importers() if i.format != Embedded.format and i.matches(inner)), None)
    if importer is None:
        raise TraceError("the row's session is of no format that replayer knows")
    builder.source(format=importer.format)
    builder.describe(fidelity=importer.fidelity)
    for warning in inner.warnings:
        builder.warn(warning)
    session = next(importer.sessions(inner))
    builder.describe(title=session.title)
    session.write(builder)
