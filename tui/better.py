"""Which lane is better on a metric, by the statistics of `replayer compare` and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from replayer.journal.view import RunView
from replayer.metrics.compare import compare


@dataclass(frozen=True, slots=True)
class Better:
    """`words` are compare's own conclusions."""

    lane: str
    words: str


def better_lanes(view: RunView) -> dict[str, Better]:
    """Per metric the one lane that is decided to be better than every other."""
    wins: dict[str, dict[str, list[str]]] = {}
    for pair in compare(view):
        if pair.winner is not None:
            wins.setdefault(pair.metric, {}).setdefault(pair.winner, []).append(pair.conclusion)
    others = len(view.lanes) - 1
    return {
        metric: Better(lane, "\n".join(words))
        for metric, lanes in wins.items()
        for lane, words in lanes.items()
        if len(words) == others
    }
