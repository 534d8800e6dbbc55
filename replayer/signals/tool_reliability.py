"""How reliable a lane's tool calls are, counted from verdicts: usable turns, faults by class and by blame.

A turn counts once for each class and blame among its faults: twenty missing parameters are one turn with
`missing_parameter`. Only fatal faults have a blame in the count; warnings are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from replayer.events import VerdictGiven


@dataclass(slots=True)
class Reliability:
    """Counts of one lane. `add` each verdict with the number of calls that its reply held."""

    turns: int = 0
    usable: int = 0
    calls: int = 0
    invalid_calls: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    blames: Counter[str] = field(default_factory=Counter)
    by_class_and_blame: Counter[tuple[str, str]] = field(default_factory=Counter)
    against_recording: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: VerdictGiven, calls: int) -> None:
        fatal = [fault for fault in verdict.faults if fault["fatal"]]
        self.turns += 1
        self.usable += verdict.usable
        self.calls += calls
        self.invalid_calls += len({f["call_index"] for f in fatal if f["call_index"] is not None})
        self.faults.update({fault["klass"] for fault in fatal})
        self.blames.update({fault["blame"] for fault in fatal})
        self.by_class_and_blame.update({(fault["klass"], fault["blame"]) for fault in fatal})
        self.warnings.update({fault["klass"] for fault in verdict.faults if not fault["fatal"]})
        self.against_recording.update({finding["kind"] for finding in verdict.against_recording})

    def figures(self) -> dict[str, Any]:
        """Plain counts, ready for JSON; rates and intervals are the reader's."""
        return {
            "turns": self.turns,
            "usable": self.usable,
            "calls": self.calls,
            "invalid_calls": self.invalid_calls,
            "faults": dict(sorted(self.faults.items())),
            "blames": dict(sorted(self.blames.items())),
            "by_class_and_blame": _nested(self.by_class_and_blame),
            "warnings": dict(sorted(self.warnings.items())),
            "against_recording": dict(sorted(self.against_recording.items())),
        }


def fold(verdicts: Iterable[tuple[VerdictGiven, int]]) -> Reliability:
    """The counts over (verdict, number of calls in its reply)."""
    result = Reliability()
    for verdict, calls in verdicts:
        result.add(verdict, calls)
    return result


def _nested(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (klass, blame), count in sorted(counts.items()):
        nested.setdefault(klass, {})[blame] = count
    return nested
