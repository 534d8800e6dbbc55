"""Small static plots: axes, lines, dots, bars. Colours are classes of the style sheet, so that both themes fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from replayer.report.markup import Html, el, join

WIDTH = 360
_TOP, _RIGHT, _BOTTOM = 12, 20, 34
Point = tuple[float, float]


def colour(lane: int) -> str:
    """The class of a lane: eight colours that come round again."""
    return f"lane{lane % 8}"


@dataclass(slots=True)
class Plot:
    """Data ranges in their own units; `log_x` wants a positive `low_x`."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float
    height: float = 220
    left: float = 46
    log_x: bool = False
    parts: list[Html] = field(default_factory=list)

    def x(self, value: float) -> float:
        low, high = (math.log(self.low_x), math.log(self.high_x)) if self.log_x else (self.low_x, self.high_x)
        at = math.log(max(value, self.low_x)) if self.log_x else value
        return self.left + (at - low) / ((high - low) or 1) * (WIDTH - self.left - _RIGHT)

    def y(self, value: float) -> float:
        span = (self.high_y - self.low_y) or 1
        return self.height - _BOTTOM - (value - self.low_y) / span * (self.height - _TOP - _BOTTOM)

    def axes(
        self, x_title: str, x_ticks: Iterable[tuple[float, str]], y_ticks: Iterable[tuple[float, str]]
    ) -> None:
        bottom = self.height - _BOTTOM
        for value, label in y_ticks:
            at = self.y(value)
            self.parts.append(el("line", x1=self.left, x2=WIDTH - _RIGHT, y1=at, y2=at, class_="grid"))
            self.label(self.left - 6, at + 4, label, anchor="end")
        for value, label in x_ticks:
            at = self.x(value)
            self.parts.append(el("line", x1=at, x2=at, y1=_TOP, y2=bottom, class_="grid"))
            self.label(at, bottom + 14, label, anchor="middle")
        self.label((self.left + WIDTH - _RIGHT) / 2, self.height - 4, x_title, anchor="middle")

    def label(self, x: float, y: float, words: str, *, anchor: str = "start") -> None:
        self.parts.append(el("text", words, x=x, y=y, text_anchor=anchor))

    def line(self, points: Sequence[Point], kind: str) -> None:
        """Points joined in order; a single one is drawn as a dot."""
        if len(points) == 1:
            self.dots(points, kind)
        elif points:
            path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
            self.parts.append(el("polyline", points=path, class_=f"line {kind}"))

    def dots(self, points: Sequence[Point], kind: str, radius: float = 2.2) -> None:
        self.parts += [
            el("circle", cx=self.x(x), cy=self.y(y), r=radius, class_=f"dot {kind}") for x, y in points
        ]

    def span(self, low: float, high: float, y: float, kind: str) -> None:
        """A horizontal interval."""
        at = self.y(y)
        self.parts.append(el("line", x1=self.x(low), x2=self.x(high), y1=at, y2=at, class_=f"span {kind}"))

    def band(self, low: float, high: float, kind: str) -> None:
        """A shaded range of y over the whole width."""
        top, bottom = self.y(high), self.y(low)
        tall = max(bottom - top, 1.0)
        self.parts.append(
            el(
                "rect",
                x=self.left,
                y=top,
                width=WIDTH - _RIGHT - self.left,
                height=tall,
                class_=f"band {kind}",
            )
        )

    def bar(self, value: float, y: float, thick: float, kind: str) -> None:
        wide = max(self.x(value) - self.left, 0.0)
        self.parts.append(el("rect", x=self.left, y=y, width=wide, height=thick, class_=f"bar {kind}"))

    def draw(self, title: str) -> Html:
        box = f"0 0 {WIDTH} {self.height:.0f}"
        return el("svg", el("title", title), join(*self.parts), viewBox=box, role="img")


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round values (1, 2, 5 times a power of ten) from `low` to `high`."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    turn = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / turn - 1e-9)
    return [number * turn for number in range(first, math.floor(high / turn + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten in the range, thinned out where many, with their 2 and 5 where few."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    marks = [factor * 10.0**power for power in powers for factor in factors]
    return [mark for mark in marks if low <= mark <= high][:: max(1, len(powers) // 5)]


def short(value: float) -> str:
    """A tick's label."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{value:.10g}"
