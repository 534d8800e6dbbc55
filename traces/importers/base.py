"""The seam of an importer: found by content, it splits an input into sessions and writes each one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.conversation import Conversation
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict
from replayer.traces.schema import Fidelity
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class Session:
    """One session of an input. `name` becomes part of the file name; `key` and `title` can be picked by the user."""

    write: Callable[[Builder], None]
    name: str = ""
    key: str = ""
    title: str | None = None


class Importer:
    """One foreign format. What it loses or rewrites is stated in its module's docstring (its projection P)."""

    format: ClassVar[str]
    fidelity: ClassVar[Fidelity] = Fidelity()
    """What the format holds at best; a session corrects it where it holds less."""
    experimental: ClassVar[bool] = False
    """Not every check of the format's table is green; `import` says so."""

    def matches(self, probe: Probe) -> bool:
        """Whether the input is of this format, by its content alone."""
        raise NotImplementedError

    def sessions(self, probe: Probe) -> Iterator[Session]:
        """The sessions of an input that matches. Raises TraceError where nothing can be read."""
        yield Session(lambda builder: self.write(builder, probe))

    def write(self, builder: Builder, probe: Probe) -> None:
        """The one session of a format whose inputs hold no more."""
        raise NotImplementedError


class RecordLog(Importer):
    """A format whose file is one session, read record by record by an object of its own."""

    agent: ClassVar[str]
    lacks: ClassVar[str]
    """What the source does not hold, in the words of a warning."""
    builder: Builder
    line: Conversation
    """The main thread."""
    clock: float | None = None
    """When the model was last given something."""

    def write(self, builder: Builder, probe: Probe) -> None:
        self.builder, self.line = builder, Conversation(builder)
        builder.describe(agent=self.agent)
        builder.warn(self.lacks)
        for number, record in probe.records():
            self.record(as_dict(record), number)
        self.end()

    def record(self, record: JsonObject, number: int) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """Behind the last record."""
