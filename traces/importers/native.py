"""Native traces: an import is a checked copy, byte for byte where the file is plain and of today's schema."""

from __future__ import annotations

from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict
from replayer.traces.reader import Trace, records
from replayer.traces.records import End
from replayer.traces.schema import Fidelity, Header, Item, Thread, ToolRun, ToolSet, Turn


class Native(Importer):
    format = "replayer"
    fidelity = Fidelity()

    def matches(self, probe: Probe) -> bool:
        first = as_dict(next(iter(probe.head), None))
        return first.get("type") == "trace" and "schema" in first

    def write(self, builder: Builder, probe: Probe) -> None:
        writer = builder.writer
        with Trace.open(probe.path) as trace:
            if not trace.complete:
                builder.warn("the source has no end record: it was cut, or it is still being recorded")
        for located in records(probe.path):
            record = located.record
            if isinstance(record, Header):
                writer.header = record
            elif isinstance(record, Item):
                writer.add_item(record)
            elif isinstance(record, ToolSet):
                writer.add_tool_set(record)
            elif isinstance(record, Turn):
                writer.put_turn(record)
            elif isinstance(record, ToolRun):
                writer.add_tool_run(record)
            elif isinstance(record, Thread):
                writer.add_thread(record)
            else:
                assert isinstance(record, End)
