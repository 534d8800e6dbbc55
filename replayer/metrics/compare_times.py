"""Two lanes compared in one quantile of a time: its difference with a bootstrap interval over sessions."""

from __future__ import annotations

from collections import Counter

from replayer.journal.view import LaneView
from replayer.metrics.catalogue import Quantile, by_session
from replayer.metrics.pair import SEQUENTIAL, Pair, figures, head
from replayer.metrics.stats import MIN_SESSIONS, quantile_difference, sequential, sign_flip, weighted_quantile

_METHOD = "quantiles over sessions, bootstrap by session; sign-flip of session quantiles"


def compare_quantiles(
    a: LaneView, b: LaneView, metric: Quantile, ends: dict[str, int] | None = None
) -> Pair | None:
    """b minus a; None where one of them says nothing about it. `ends`: of a run that may stop early, when its sessions
    ended."""
    attempts = [[one for one in lane.attempts if ends is None or not one.repeat] for lane in (a, b)]
    left, right = by_session(attempts[0], metric), by_session(attempts[1], metric)
    sessions = sorted(left.keys() & right.keys() & (ends.keys() if ends is not None else left.keys()))
    if not sessions:
        return None
    of_a, of_b = [left[name] for name in sessions], [right[name] for name in sessions]
    turns = int(min(_pooled(of_a).total(), _pooled(of_b).total()))
    values = at_share(_pooled(of_a), metric), at_share(_pooled(of_b), metric)
    result = head(a.name, b.name, metric, values, len(sessions), turns)
    moved = {name: at_share(right[name], metric) - at_share(left[name], metric) for name in sessions}
    if ends is not None:
        p, interval = sequential([moved[name] for name in sorted(sessions, key=lambda one: (ends[one], one))])
        return result | {"sequential": True} | figures(interval, p, p, SEQUENTIAL)
    if len(sessions) < MIN_SESSIONS:
        return result | _few(of_a, of_b, metric) if metric.of_turn is not None else None
    p = sign_flip(list(moved.values()))
    return result | figures(quantile_difference(of_a, of_b, metric.share), p, p, _METHOD)


def at_share(counts: Counter[float], metric: Quantile) -> float:
    return weighted_quantile(sorted(counts.items()), metric.share)


def _pooled(sessions: list[Counter[float]]) -> Counter[float]:
    total: Counter[float] = Counter()
    for counts in sessions:
        total.update(counts)
    return total


def _few(of_a: list[Counter[float]], of_b: list[Counter[float]], metric: Quantile) -> Pair:
    """Too few sessions to speak of others: an interval over turns, and nothing is decided."""
    method = (
        f"bootstrap over turns, these sessions only: {len(of_a)} of at least {MIN_SESSIONS} needed for a test"
    )
    x, y = ([{value: 1.0} for value in _pooled(sessions).elements()] for sessions in (of_a, of_b))
    return figures(quantile_difference(x, y, metric.share, paired=False), None, None, method)
