"""The plots of a report, each a figure with its caption and legend, from the counts of a view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from replayer.journal.turns import Attempt, TurnFacts, bin_ms
from replayer.journal.view import LaneView, RunView
from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import all_turns
from replayer.report.markup import Html, el, join
from replayer.report.svg import Plot, Point, colour, log_ticks, short, ticks

MOST_SESSIONS = 6
"""Prefix curves are drawn of the longest sessions."""
_MOST_POINTS = 400
_SHARES = [(0.0, "0 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (1.0, "100 %")]


def figure(plot: Html, caption: str, legend: Iterable[tuple[str, str]] = ()) -> Html:
    """`legend`: (class, words)."""
    keys = [el("span", el("i", class_=kind), words) for kind, words in legend]
    return el("figure", el("figcaption", caption), plot, el("div", *keys, class_="legend") if keys else None)


def lane_legend(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(colour(number), name) for number, name in enumerate(names)]


def usable_turns(lanes: list[LaneFigures]) -> Html:
    """One row per lane: the rate and its 95 % interval."""
    rates = [(lane.lane, lane.usable_turn_rate) for lane in lanes]
    lowest = min((rate.low for _, rate in rates if rate.n), default=0.0)
    plot = Plot(min(0.9, int(lowest * 10) / 10), 1.0, 0, len(rates), height=60 + 34 * len(rates), left=96)
    marks = ticks(plot.low_x, 1.0)
    plot.axes("usable turns", [(mark, f"{mark:.0%}") for mark in marks], [])
    for number, (name, rate) in enumerate(rates):
        middle = len(rates) - number - 0.5
        plot.label(plot.left - 8, plot.y(middle) + 4, _clip(name, 14), anchor="end")
        if rate.value is not None:
            plot.span(rate.low, rate.high, middle, colour(number))
            plot.dots([(rate.value, middle)], colour(number), radius=5)
    return figure(plot.draw("Usable-turn rate by lane"), "Usable turns, with 95 % intervals (Wilson)")


def faults(lanes: list[LaneFigures]) -> Html | None:
    """Turns with a fault of each class, one bar per lane; None without any."""
    classes = Counter[str]()
    for lane in lanes:
        classes.update(lane.faults)
    if not classes:
        return None
    thick, gap = 9, 8
    block = thick * len(lanes) + gap
    most = max(count for lane in lanes for count in lane.faults.values())
    plot = Plot(0, most, 0, 1, height=46 + block * len(classes) + gap, left=142)
    whole = sorted({round(mark) for mark in ticks(0, most)})
    plot.axes("turns", [(mark, str(mark)) for mark in whole], [])
    for row, (name, _) in enumerate(classes.most_common()):
        top = 12 + gap + row * block
        plot.label(plot.left - 8, top + thick * len(lanes) / 2 + 4, name, anchor="end")
        for number, lane in enumerate(lanes):
            plot.bar(lane.faults.get(name, 0), top + thick * number, thick - 1, colour(number))
    names = [lane.lane for lane in lanes]
    return figure(plot.draw("Faults by class"), "Faults by class", lane_legend(names))


def prefix_curves(view: RunView) -> list[Html]:
    """Per session: the share of each prompt that the engine took from its cache, against what was possible."""
    sessions: dict[str, int] = {}
    for lane in view.lanes:
        for attempt in lane.attempts:
            sessions[attempt.trace] = max(sessions.get(attempt.trace, 0), len(attempt.turns))
    longest = sorted(sessions, key=lambda trace: -sessions[trace])[:MOST_SESSIONS]
    return [found for trace in longest if (found := _prefix_curve(view, trace)) is not None]


def _prefix_curve(view: RunView, trace: str) -> Html | None:
    drawn: list[tuple[list[Point], str]] = []
    ideal: list[Point] = []
    for number, lane in enumerate(view.lanes):
        turns = _first_repeat(lane, trace)
        ideal = max(
            ideal, [(turn.turn + 1, share) for turn in turns if (share := _ideal(turn)) is not None], key=len
        )
        known = [
            (turn.turn + 1.0, turn.cached_tokens / turn.prompt_tokens)
            for turn in turns
            if turn.cached_tokens is not None and turn.prompt_tokens
        ]
        if known:
            drawn.append((known, colour(number)))
    if not drawn and not ideal:
        return None
    last = max(point[0] for points, _ in [*drawn, (ideal, "")] for point in points)
    plot = Plot(1, max(last, 2), 0, 1)
    plot.axes("turn", _turns(last), _SHARES)
    plot.line(_thin(ideal), "possible")
    for points, kind in drawn:
        plot.line(_thin(points), kind)
    legend = [("possible", "possible"), *lane_legend([lane.name for lane in view.lanes])]
    return figure(plot.draw(f"Prefix reuse in {trace}"), f"Prompt from the prefix cache: {trace}", legend)


def _first_repeat(lane: LaneView, trace: str) -> list[TurnFacts]:
    attempts = [attempt for attempt in lane.attempts if attempt.trace == trace]
    first = min(attempts, key=lambda attempt: attempt.repeat, default=None)
    return [first.turns[number] for number in sorted(first.turns)] if first else []


def _ideal(turn: TurnFacts) -> float | None:
    if not turn.prefix or turn.prefix.get("ideal_tokens") is None or not turn.prefix.get("prompt_tokens"):
        return None
    return float(turn.prefix["ideal_tokens"] / turn.prefix["prompt_tokens"])


def decode_speeds(view: RunView, lanes: list[LaneFigures]) -> list[Html]:
    """Per lane: the speed of each reply in the order sent, speed bands shaded, draft acceptance as a line."""
    drawn = []
    for number, (lane, figures) in enumerate(zip(view.lanes, lanes, strict=True)):
        turns = sorted(all_turns(lane.attempts), key=lambda turn: turn.wall)
        speeds = [
            (at + 1.0, turn.decode_tok_s) for at, turn in enumerate(turns) if turn.decode_tok_s is not None
        ]
        if speeds:
            drawn.append(_decode(lane.name, number, turns, speeds, figures.bands))
    return drawn


def _decode(
    name: str, number: int, turns: list[TurnFacts], speeds: list[Point], bands: list[dict[str, Any]]
) -> Html:
    top = max(speed for _, speed in speeds) * 1.08
    plot = Plot(1, max(len(turns), 2), 0, top)
    plot.axes("reply, in the order sent", _turns(len(turns)), [(mark, short(mark)) for mark in ticks(0, top)])
    legend = [(colour(number), "tok/s of one reply")]
    for band in bands:
        plot.band(band["low"], band["high"], "shade")
    plot.dots(_thin(speeds), colour(number))
    accepted = [
        (at + 1.0, (turn.accepted or 0) / turn.drafted * top) for at, turn in enumerate(turns) if turn.drafted
    ]
    if accepted:
        plot.line(_thin(accepted), "accepted")
        legend.append(("accepted", "draft acceptance, top = 100 %"))
    if bands:
        legend.append(("shade", f"{len(bands)} speed bands"))
    return figure(plot.draw(f"Decode speed of {name}"), f"Decode speed over turns: {name}", legend)


def distributions(view: RunView) -> list[Html]:
    """Cumulative shares of time to first token and of time between deltas, by lane."""
    ttft = [
        Counter(turn.ttft_ns / 1e6 for turn in all_turns(lane.attempts) if turn.ttft_ns is not None)
        for lane in view.lanes
    ]
    gaps = [_gaps(lane.attempts) for lane in view.lanes]
    names = [lane.name for lane in view.lanes]
    plots = (
        _cumulative(ttft, "Time to first token", names),
        _cumulative(gaps, "Time between tokens (ITL)", names),
    )
    return [plot for plot in plots if plot is not None]


def _gaps(attempts: Iterable[Attempt]) -> Counter[float]:
    found: Counter[float] = Counter()
    for attempt in attempts:
        for index, count in attempt.gaps.items():
            found[bin_ms(index)] += count
    return found


def _cumulative(lanes: list[Counter[float]], what: str, names: list[str]) -> Html | None:
    values = [value for lane in lanes for value in lane if value > 0]
    if not values:
        return None
    low = max(min(values), 0.01)
    plot = Plot(low * 0.9, max(max(values), low * 10) * 1.1, 0, 1, log_x=True)
    plot.axes(
        "ms, logarithmic", [(mark, short(mark)) for mark in log_ticks(plot.low_x, plot.high_x)], _SHARES
    )
    for number, lane in enumerate(lanes):
        plot.line(_thin(_shares(lane)), colour(number))
    return figure(
        plot.draw(f"{what}, cumulative"),
        f"{what}: cumulative share",
        lane_legend(names),
    )


def _shares(counts: Counter[float]) -> list[Point]:
    total, seen = sum(counts.values()), 0
    points = []
    for value in sorted(counts):
        seen += counts[value]
        points.append((value, seen / total))
    return points


def _turns(last: float) -> list[tuple[float, str]]:
    marks = sorted({max(1, round(mark)) for mark in ticks(1, max(last, 2), 5)} | {1})
    return [(mark, str(mark)) for mark in marks]


def _thin(points: list[Point]) -> list[Point]:
    """At most some hundreds, evenly taken, the last one kept."""
    if len(points) <= _MOST_POINTS:
        return points
    turn = len(points) / _MOST_POINTS
    return [points[int(at * turn)] for at in range(_MOST_POINTS)] + points[-1:]


def _clip(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def grid(figures: Iterable[Html | None]) -> Html:
    return el("div", join(*figures), class_="plots")
