"""How alike two recordings of one session are: result by result, and everything else exactly."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from replayer.tools.compare import compare
from replayer.traces.reader import records
from replayer.traces.records import Record
from replayer.traces.schema import ToolResultItem, Turn

ENOUGH = 0.95
"""Share of results that must come out the same or equivalent: some commands print what no two runs share."""


@dataclass(slots=True)
class Likeness:
    """Counts of tool results, the differing ones by call id, and the first line that differs otherwise."""

    same: int = 0
    equivalent: int = 0
    different: list[str] = field(default_factory=list)
    first_other: int | None = None

    @property
    def share(self) -> float:
        alike = self.same + self.equivalent
        return alike / (alike + len(self.different)) if alike or self.different else 1.0

    @property
    def holds(self) -> bool:
        return self.share >= ENOUGH and self.first_other is None

    def __str__(self) -> str:
        text = f"{self.share:.1%} of results alike ({self.same} same, {self.equivalent} equivalent"
        text += f", different: {', '.join(self.different)})" if self.different else ")"
        return text + (f"; line {self.first_other} differs otherwise" if self.first_other else "")


def likeness(one: Path, other: Path) -> Likeness:
    found = Likeness()
    for a, b in zip(records(one), records(other), strict=True):
        if isinstance(a.record, ToolResultItem) and isinstance(b.record, ToolResultItem):
            _count(found, a.record, b.record)
        if _bare(a.record) != _bare(b.record):
            found.first_other = found.first_other or a.line
    return found


def _count(found: Likeness, a: ToolResultItem, b: ToolResultItem) -> None:
    said = compare(str(a.content), str(b.content))
    if said == "different":
        found.different.append(a.call_id)
    elif said == "same":
        found.same += 1
    else:
        found.equivalent += 1


def _bare(record: Record) -> Record:
    """A record without results, and without token counts and times, which follow from the results."""
    if isinstance(record, ToolResultItem):
        return replace(record, content="")
    if isinstance(record, Turn):
        return replace(record, usage=None, times=None)
    return record
