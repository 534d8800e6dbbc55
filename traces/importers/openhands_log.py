"""What both generations of OpenHands event logs share: events as they reached the model, grouped into replies."""

from __future__ import annotations

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.values import as_int, as_str, as_text, dicts, epoch
from replayer.traces.schema import Times
from replayer.wire.types import Json, JsonObject


class EventLog:
    """Events as they reached the model, by event id, so that a condensation can take some out."""

    def __init__(self, builder: Builder, model: str | None = None) -> None:
        self.builder = builder
        self.model = model
        self.sent: list[tuple[Json, int]] = []
        self.tool_set: str | None = None
        self.open: str | None = None
        self.produced: list[tuple[Json, int]] = []
        self.late: list[tuple[Json, int]] = []
        self.facts: JsonObject = {}

    def begin(self, response: str, **facts: object) -> None:
        """Opens the reply of a response unless it is open already."""
        if self.open != response:
            self.close()
            self.open, self.facts = response, facts

    def close(self) -> None:
        if self.open is not None and self.produced:
            items = [item for _, item in self.produced]
            context = [item for _, item in self.sent]
            self.builder.turn(context, items, tool_set=self.tool_set, **self.facts)
        self.sent += self.produced + self.late
        self.open, self.produced, self.late, self.facts = None, [], [], {}

    def said(self, event: object, item: int) -> None:
        """Something that the model gets: a message or a result."""
        (self.late if self.open is not None else self.sent).append((event, item))

    def condense(self, forgotten: set[Json], summary: Json, offset: int | None) -> None:
        self.close()
        kept = (one for one in self.sent if not (isinstance(one[0], str | int) and one[0] in forgotten))
        self.sent = [*kept]
        if isinstance(summary, str) and summary:
            at = min(offset if offset is not None else 1, len(self.sent))
            self.sent.insert(at, ("summary", self.builder.compaction(summary)))


def joined(value: object) -> str:
    """Text of content parts; other values as JSON."""
    if isinstance(value, list):
        return "".join(as_str(part.get("text")) if "text" in part else "" for part in dicts(value))
    return as_text(value)


def with_place(content: str, metadata: JsonObject) -> str:
    """A command's output as the model gets it: directory, interpreter and exit code behind it."""
    text = f"{as_str(metadata.get('prefix'))}{content}{as_str(metadata.get('suffix'))}"
    if metadata.get("working_dir"):
        text += f"\n[Current working directory: {metadata['working_dir']}]"
    if metadata.get("py_interpreter_path"):
        text += f"\n[Python interpreter: {metadata['py_interpreter_path']}]"
    if as_int(metadata.get("exit_code")) not in (None, -1):
        text += f"\n[Command finished with exit code {metadata['exit_code']}]"
    return text


def ended(event: JsonObject) -> Times | None:
    at = epoch(event.get("timestamp"))
    return Times(ended=at) if at else None
