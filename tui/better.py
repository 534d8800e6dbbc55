"""What the screen says of lanes beside each other, by the statistics of `replayer compare` and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replayer.journal.view import RunView
from replayer.metrics.answers import story
from replayer.metrics.compare import compare
from replayer.metrics.documents import LaneFigures
from replayer.metrics.ranking import ranking
from replayer.metrics.run_documents import Pair, Story
from replayer.metrics.sweep import ramps


@dataclass(frozen=True, slots=True)
class Better:
    """`words` are compare's own conclusions."""

    lane: str
    words: str


@dataclass(frozen=True, slots=True)
class Compared:
    """`best`: per metric the one lane that is decided to be better than every other."""

    best: dict[str, Better]
    story: Story


NOTHING = Compared({}, story([], [], [], None))


def compared(view: RunView, figures: Mapping[str, LaneFigures]) -> Compared:
    """`figures` by the names that the lanes have in `view`."""
    lanes = [figures[lane.name] for lane in view.lanes]
    pairs, levels = compare(view), ramps(view.lanes, lanes)
    return Compared(
        _best(pairs, len(lanes) - 1), story(lanes, pairs, levels, ranking(view.lanes, lanes, pairs))
    )


def _best(pairs: Sequence[Pair], others: int) -> dict[str, Better]:
    wins: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        if pair.winner is not None:
            wins.setdefault(pair.metric, {}).setdefault(pair.winner, []).append(pair.conclusion)
    return {
        metric: Better(lane, "\n".join(words))
        for metric, lanes in wins.items()
        for lane, words in lanes.items()
        if len(words) == others
    }
