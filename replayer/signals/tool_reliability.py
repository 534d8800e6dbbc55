"""How reliable a lane's tool calls are, counted from verdicts: usable turns, faults by class and by blame.

A turn counts once for each class and blame among its faults: twenty missing parameters are one turn with
`missing_parameter`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from replayer.lazy import dataclass
from replayer.wire.types import Json, JsonObject


class FaultMark(NamedTuple):
    """What the counts need of a fault."""

    klass: str
    blame: str
    fatal: bool


def marks(faults: Iterable[Mapping[str, Json]]) -> tuple[FaultMark, ...]:
    """The different faults of a journalled verdict, in order of appearance."""
    return tuple(dict.fromkeys(FaultMark(f["klass"], f["blame"], f["fatal"]) for f in faults))


@dataclass(slots=True)
class Reliability:
    """Counts of one lane, in turns. Blame is counted for fatal faults only: a warning has cost nothing."""

    faults: Counter[str] = field(default_factory=Counter)
    """Turns with each class, warnings included."""
    fatal: Counter[str] = field(default_factory=Counter)
    blames: Counter[str] = field(default_factory=Counter)
    by_class_and_blame: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, turn: Sequence[FaultMark]) -> None:
        """Count one judged turn."""
        fatal = [mark for mark in turn if mark.fatal]
        self.faults.update({mark.klass for mark in turn})
        self.fatal.update({mark.klass for mark in fatal})
        self.blames.update({mark.blame for mark in fatal})
        self.by_class_and_blame.update({(mark.klass, mark.blame) for mark in fatal})

    def figures(self) -> JsonObject:
        """Plain counts, ready for JSON: classes, and for fatal ones who is to blame."""
        nested: dict[str, dict[str, int]] = {}
        for (klass, blame), count in sorted(self.by_class_and_blame.items()):
            nested.setdefault(klass, {})[blame] = count
        return {
            "faults": dict(sorted(self.faults.items())),
            "fatal_faults": dict(sorted(self.fatal.items())),
            "blames": dict(sorted(self.blames.items())),
            "faults_by_blame": nested,
        }


def fold(turns: Iterable[Sequence[FaultMark]]) -> Reliability:
    """The counts over the marks of judged turns."""
    result = Reliability()
    for turn in turns:
        if turn:
            result.add(turn)
    return result
