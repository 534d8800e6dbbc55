"""What the engines say of themselves over time: one block of curves per lane, all on the run's time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from replayer.events import TelemetryRead
from replayer.tui.curves import Span as Held
from replayer.tui.curves import by_instance, gauge, known, over_time, rate, share, speeds
from replayer.tui.keys import Keys
from replayer.tui.pace import duration_words
from replayer.tui.rows import number
from replayer.tui.source import Frame
from replayer.tui.text import DASH, Span, content, fit, plot, safe
from replayer.view import LaneView, RunView

_LABEL, _FIGURES = 18, 27
_MOST_HEIGHT = 4
_TICK = 24
"""Cells between two times on the axis, at least."""
_QUIET, _LINE = "$foreground-muted", "$panel-lighten-2"
Samples = Sequence[TelemetryRead]


def percent(value: float) -> str:
    return f"{value:.1%}"


def whole(value: float) -> str:
    return f"{value:,.0f}"


class Curve(NamedTuple):
    """`top` fixes the scale; `always` shows a dash where nothing is known, others are left out."""

    label: str
    of: Callable[[Samples], list[Held]]
    source: str
    words: Callable[[float], str] = number
    top: float | None = None
    always: bool = True
    style: str = "$primary"


CURVES = (
    Curve("server tok/s", lambda s: rate(s, "generated_tokens"), "metrics", style="$secondary"),
    Curve(
        "draft acceptance",
        lambda s: share(s, "accepted", "drafted"),
        "metrics",
        percent,
        1.0,
        style="$secondary",
    ),
    Curve("KV cache in use", lambda s: gauge(s, "kv_used"), "metrics", percent, 1.0),
    Curve("requests running", lambda s: gauge(s, "running"), "metrics", whole),
    Curve("requests waiting", lambda s: gauge(s, "waiting"), "metrics", whole),
    Curve("preempted /s", lambda s: rate(s, "preempted"), "metrics", always=False),
    Curve("GPU in use", lambda s: gauge(s, "gpu_utilisation"), "GPU", percent, 1.0),
    Curve("GPU memory", lambda s: gauge(s, "gpu_memory"), "GPU", percent, 1.0, always=False),
    Curve("GPU power W", lambda s: gauge(s, "gpu_power"), "GPU", always=False),
    Curve("GPU °C", lambda s: gauge(s, "gpu_temperature"), "GPU", always=False),
)
_REASONS = {
    "metrics": "not reported; `replayer doctor URL` says why",
    "GPU": "not read: no NVML here, no DCGM exporter named",
    "client": "no reply with known tokens yet",
}


class TelemetryScreen(Screen[None]):
    """Tokens/s, acceptance, KV use, queue and GPU over time, and the bands of decode speed."""

    DEFAULT_CSS = """
    TelemetryScreen > #axis { height: 1; padding: 0 1; background: $panel; }
    TelemetryScreen > VerticalScroll { padding: 0 1; scrollbar-size-vertical: 1; }
    TelemetryScreen > VerticalScroll > Static { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._axis = Static(id="axis", markup=False)
        self._curves = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self._axis
        yield VerticalScroll(self._curves)
        yield Keys()

    def show(self, frame: Frame) -> bool:
        width = max(60, self.size.width - 4)
        lanes = [(view, lane) for view in frame.views for lane in view.lanes]
        height = self._height(lanes, frame.figures)
        spans: list[Span | str] = []
        for view, lane in lanes:
            spans += _block(view, lane, frame.figures.get(lane.name, {}), width, height)
        self._curves.update(content(*spans) if spans else Content("no lane yet"))
        seconds = max((view.last_at for view in frame.views), default=0) / 1e9
        axis = f"{'time of the run':<{_LABEL}}{_axis(seconds, width - _LABEL - _FIGURES)}"
        self._axis.update(content((axis, _QUIET)))
        return True

    def _height(self, lanes: Sequence[tuple[RunView, LaneView]], figures: Mapping[str, Any]) -> int:
        """Lines of a curve, so that all lanes fit on the screen where they can."""
        drawn = fixed = 0
        for _, lane in lanes:
            shown, unknown = _curves_of(lane)
            drawn += shown
            fixed += 2 + unknown + len(bands_text(figures.get(lane.name, {})))
        return max(1, min(_MOST_HEIGHT, (self.size.height - 2 - fixed) // max(1, drawn)))


def _curves_of(lane: LaneView) -> tuple[int, int]:
    """How many curves are drawn, and how many are a line with the reason why not."""
    instances = by_instance(lane.telemetry) or {"": []}
    told = [
        (bool(known(curve.of(samples))), curve.always) for samples in instances.values() for curve in CURVES
    ]
    return 1 + sum(has for has, _ in told), sum(always and not has for has, always in told)


def _axis(seconds: float, width: int) -> str:
    """Times below which the curves stand, evenly spread."""
    count = max(1, width // _TICK)
    axis = ""
    for tick in range(count):
        axis = axis.ljust(round(tick * width / count)) + "╵" + duration_words(seconds * tick / count)
    end = duration_words(seconds)
    return axis.ljust(width - len(end) - 1) + f"{end}╵"


def _block(
    view: RunView, lane: LaneView, figures: dict[str, Any], width: int, height: int
) -> list[Span | str]:
    seconds = view.last_at / 1e9
    steps = [step for attempt in lane.attempts for step in attempt.steps.values()]
    rule = "─" * max(0, width - cell_len(safe(lane.name)) - 4)
    spans: list[Span | str] = [("── ", _LINE), (lane.name, "bold"), (f" {rule}\n", _LINE)]
    spans += [(f"{missing}\n", "$warning")] if (missing := _missing(figures)) else []
    decode = Curve("decode tok/s", lambda _: speeds(steps, view.started_wall), "client", style="$secondary")
    spans += _curve(decode, (), seconds, width, height)
    instances = by_instance(lane.telemetry) or {"": []}
    for name, samples in instances.items():
        if len(instances) > 1:
            spans.append((f"{name}\n", _QUIET))
        for curve in CURVES:
            spans += _curve(curve, samples, seconds, width, height)
    return [*spans, *bands_text(figures), "\n"]


def _curve(curve: Curve, samples: Samples, seconds: float, width: int, height: int) -> list[Span | str]:
    """A plot between its name and its figures; one line with the reason where nothing is known."""
    held = curve.of(samples)
    values = known(held)
    if not values:
        dash = fit(f"{DASH}  {_REASONS[curve.source]}", width - _LABEL).rstrip() + "\n"
        return [(fit(curve.label, _LABEL), _QUIET), (dash, _QUIET)] if curve.always else []
    room = width - _LABEL - _FIGURES
    lines = plot(over_time(held, seconds, room), room, height, curve.top)
    now = curve.words(values[-1])
    spans: list[Span | str] = []
    for n, line in enumerate(lines):
        end = n == len(lines) - 1
        figures = f"  last {now:<7} max {curve.words(max(values))}" if end else ""
        spans += [(fit(curve.label if end else "", _LABEL), _QUIET), (line, curve.style), f"{figures}\n"]
    return spans


def _missing(figures: dict[str, Any]) -> str:
    """That some readings failed, and why."""
    server = figures.get("server") or {}
    missing, readings = server.get("missing") or 0, server.get("readings") or 0
    why = ", ".join(map(str, server.get("why") or ()))
    return f"△ {missing} of {missing + readings} readings failed ({why})" if missing else ""


def bands_text(figures: dict[str, Any]) -> list[Span | str]:
    """Separate bands of decode speed, with the acceptance in each, and how much acceptance explains."""
    bands, fit_ = figures.get("bands") or [], figures.get("band_fit") or {}
    if not bands:
        return []
    over = "turns" if fit_.get("over") == "steps" else "readings"
    spans: list[Span | str] = [(f"≡ {len(bands)} separate bands of speed\n", "bold $secondary")]
    for band in bands:
        acceptance = f", acceptance {band['acceptance']:.0%}" if band.get("acceptance") is not None else ""
        speed = f"{number(band['low'])}–{number(band['high'])} tok/s"
        spans.append(f"{'':<{_LABEL}}{speed:<20}{band['share']:.0%} of {over}{acceptance}\n")
    explained = fit_.get("explained_by_acceptance")
    if explained is not None:
        spans.append((f"{'':<{_LABEL}}draft acceptance explains {explained:.0%} of the difference\n", _QUIET))
    return spans
