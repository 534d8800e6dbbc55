"""What the screen says of lanes beside each other, by the statistics of `replayer compare` and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replayer.journal.view import RunView
from replayer.metrics.answers import story
from replayer.metrics.compare import compare
from replayer.metrics.documents import LaneFigures
from replayer.metrics.ranking import ranking
from replayer.metrics.run_documents import Story
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
    wins: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        if pair.winner is not None:
            wins.setdefault((pair.metric, pair.winner), []).append(pair.conclusion)
    best = {
        metric: Better(lane, "\n".join(words))
        for (metric, lane), words in wins.items()
        if len(words) == len(lanes) - 1
    }
    return Compared(best, story(lanes, pairs, levels, ranking(view.lanes, lanes, pairs)))
