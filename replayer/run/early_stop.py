"""`--stop-when-decided`: ends a run once its metric is decided between all lanes, by a test that allows it.

Looked at after every session, over the sessions that have ended on both lanes. The test is the one that the report makes
of such a run (`compare.compare_sequentially`), so that what stopped the run stands in the report.
"""

from __future__ import annotations

from typing import Protocol

from replayer.journal.events import AnyEvent
from replayer.journal.view import Fold
from replayer.metrics.catalogue import METRICS
from replayer.metrics.compare import compare, family, lane_pairs


class Stopper(Protocol):
    """Sees every event of a run, and says when enough is known."""

    metric: str

    def apply(self, event: AnyEvent) -> None: ...
    def reason(self) -> str | None: ...


class EarlyStop:
    """Takes every event of a run that has `stop_when_decided`."""

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self._fold = Fold()

    def apply(self, event: AnyEvent) -> None:
        self._fold.apply(event)

    def reason(self) -> str | None:
        """Why no further session is needed; None while a pair of lanes is undecided."""
        view = self._fold.view(run="")
        pairs = [pair for pair in compare(view, metrics=family(self.metric)) if pair.metric == self.metric]
        expected = sum(1 for _ in lane_pairs(view.lanes))
        if len(pairs) < expected or not all(pair.decided for pair in pairs):
            return None
        sessions = min(pair.n_sessions for pair in pairs)
        words = "; ".join(pair.conclusion for pair in pairs)
        return f"{METRICS[self.metric].words} decided after {sessions} sessions: {words}"
