"""The curves of a sweep over load: throughput by requests at once, time of a whole answer by its length."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.metrics.run_documents import RunFigures
from replayer.report.markup import Html
from replayer.report.plots import figure, lane_legend
from replayer.report.svg import Plot, Point, colour, short, ticks


def load_curves(document: RunFigures) -> list[Html]:
    """The plots of a document of `run_figures`; none where nothing was swept."""
    ramps = [(ramp.ramp, ramp.points) for ramp in document.saturation]
    found = [_curves("Throughput, output tok/s", "requests at once", ramps)] if ramps else []
    for pair in document.crossovers:
        lanes = [
            (pair.a, [(level.length, level.value_a / 1000) for level in pair.levels]),
            (pair.b, [(level.length, level.value_b / 1000) for level in pair.levels]),
        ]
        found.append(_curves("Time of a whole answer, s", "answer length in tokens", lanes))
    return found


def _curves(what: str, axis: str, curves: Sequence[tuple[str, list[Point]]]) -> Html:
    at = sorted({x for _, points in curves for x, _ in points})
    top = max(y for _, points in curves for _, y in points) * 1.08 or 1.0
    plot = Plot(at[0], at[-1], 0, top, log_x=True)
    plot.axes(axis, [(x, f"{x:g}") for x in at], [(mark, short(mark)) for mark in ticks(0, top)])
    for number, (_, points) in enumerate(curves):
        plot.line(points, colour(number))
        plot.dots(points, colour(number), radius=3)
    return figure(plot.draw(what), what, lane_legend([name for name, _ in curves]))
