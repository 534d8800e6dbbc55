"""Which lane is better on a metric, by the statistics of `replayer compare` and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from replayer.journal.view import RunView
from replayer.metrics.compare import compare


@dataclass(frozen=True, slots=True)
class Better:
    """`sure`: tested over sessions. Else it holds for the sessions of this run only. `words` are compare's own."""

    lane: str
    sure: bool
    words: str


def better_lanes(view: RunView) -> dict[str, Better]:
    """Per metric the one lane that is better than every other beyond noise."""
    wins: dict[str, dict[str, list[Better]]] = {}
    for pair in compare(view):
        p = pair.get("p_value_adjusted")
        if not (p < 0.05 if p is not None else pair["low"] > 0 or pair["high"] < 0):
            continue
        b_better = (pair["difference"] > 0) == (pair["better"] == "higher")
        winner = pair["b"] if b_better else pair["a"]
        found = Better(winner, p is not None, str(pair["conclusion"]))
        wins.setdefault(pair["metric"], {}).setdefault(winner, []).append(found)
    others = len(view.lanes) - 1
    return {
        metric: Better(lane, all(win.sure for win in won), "\n".join(win.words for win in won))
        for metric, lanes in wins.items()
        for lane, won in lanes.items()
        if len(won) == others
    }
