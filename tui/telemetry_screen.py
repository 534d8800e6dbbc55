"""What the engines say of themselves over time: one block of curves per lane, all on the run's time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from replayer.metrics.documents import LaneFigures
from replayer.metrics.shown import number
from replayer.tui.curves import OF_TELEMETRY, LaneCurves, Series, over_time
from replayer.tui.keys import Keys
from replayer.tui.pace import duration_words
from replayer.tui.pages import Page
from replayer.tui.source import Frame
from replayer.tui.text import DASH, Span, content, fit, plot, safe

_LABEL, _FIGURES = 18, 27
_MOST_HEIGHT = 4
_TICK = 24
"""Sessions between two times on the axis, at least."""
_QUIET, _LINE = "$foreground-muted", "$panel-lighten-2"
_NONE = LaneCurves(decode=None, servers={"": dict.fromkeys(OF_TELEMETRY)})


_PERCENT, _WHOLE = "{:.1%}".format, "{:,.0f}".format


class Look(NamedTuple):
    """How a curve is shown. `top` fixes the scale; `spikes`: one short reply may have any speed; `always` shows a dash where nothing is known, others are left out."""

    source: str
    words: Callable[[float], str] = number
    top: float | None = None
    always: bool = True
    spikes: bool = False
    style: str = "$primary"


DECODE = Look("client", spikes=True, style="$secondary")
LOOKS = {
    "server tok/s": Look("metrics", style="$secondary"),
    "draft acceptance": Look("metrics", _PERCENT, 1.0, style="$secondary"),
    "KV cache in use": Look("metrics", _PERCENT, 1.0),
    "requests running": Look("metrics", _WHOLE),
    "requests waiting": Look("metrics", _WHOLE),
    "preempted /s": Look("metrics", always=False),
    "GPU in use": Look("GPU", _PERCENT, 1.0),
    "GPU memory": Look("GPU", _PERCENT, 1.0, always=False),
    "GPU power W": Look("GPU", always=False),
    "GPU °C": Look("GPU", always=False),
}
_REASONS = {
    "metrics": "not reported; `replayer doctor URL` says why",
    "GPU": "not read: no NVML here, no DCGM exporter named",
    "client": "no reply with known tokens yet",
}


class TelemetryScreen(Page):
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
        height = self._height(frame)
        spans: list[Span | str] = []
        for view, lane in lanes:
            figures, curves = frame.figures.get(lane.name), frame.curves.get(lane.name, _NONE)
            spans += _block(lane.name, curves, figures, view.last_at / 1e9, width, height)
        self._curves.update(content(*spans) if spans else Content("no lane yet"))
        seconds = max((view.last_at for view in frame.views), default=0) / 1e9
        axis = f"{'time of the run':<{_LABEL}}{_axis(seconds, width - _LABEL - _FIGURES)}"
        self._axis.update(content((axis, _QUIET)))
        return True

    def _height(self, frame: Frame) -> int:
        """Lines of a curve, so that all lanes fit on the screen where they can."""
        drawn = fixed = 0
        for view in frame.views:
            for lane in view.lanes:
                shown, unknown = _count(frame.curves.get(lane.name, _NONE))
                drawn += shown
                fixed += 2 + unknown + len(bands_text(frame.figures.get(lane.name)))
        return max(1, min(_MOST_HEIGHT, (self.size.height - 2 - fixed) // max(1, drawn)))


def _count(curves: LaneCurves) -> tuple[int, int]:
    """How many curves are drawn, and how many are a line with the reason why not."""
    rows_known = [
        (held[label] is not None, look.always)
        for held in curves.servers.values()
        for label, look in LOOKS.items()
    ]
    return 1 + sum(has for has, _ in rows_known), sum(always and not has for has, always in rows_known)


def _axis(seconds: float, width: int) -> str:
    """Times below which the curves stand, evenly spread."""
    count = max(1, width // _TICK)
    axis = ""
    for tick in range(count):
        axis = axis.ljust(round(tick * width / count)) + "╵" + duration_words(seconds * tick / count)
    end = duration_words(seconds)
    return axis.ljust(width - len(end) - 1) + f"{end}╵"


def _block(
    name: str, curves: LaneCurves, figures: LaneFigures | None, seconds: float, width: int, height: int
) -> list[Span | str]:
    rule = "─" * max(0, width - cell_len(safe(name)) - 4)
    spans: list[Span | str] = [("── ", _LINE), (name, "bold"), (f" {rule}\n", _LINE)]
    spans += [(f"{missing}\n", "$warning")] if (missing := _missing(figures)) else []
    spans += _curve("decode tok/s", DECODE, curves.decode, seconds, width, height)
    for server, held in curves.servers.items():
        if len(curves.servers) > 1:
            spans.append((f"{server}\n", _QUIET))
        for label, look in LOOKS.items():
            spans += _curve(label, look, held[label], seconds, width, height)
    return [*spans, *bands_text(figures), "\n"]


def _curve(
    label: str, look: Look, series: Series | None, seconds: float, width: int, height: int
) -> list[Span | str]:
    """A plot between its name and its figures; one line with the reason where nothing is known."""
    if series is None:
        dash = fit(f"{DASH}  {_REASONS[look.source]}", width - _LABEL).rstrip() + "\n"
        return [(fit(label, _LABEL), _QUIET), (dash, _QUIET)] if look.always else []
    room = width - _LABEL - _FIGURES
    values = over_time(series.spans, seconds, room)
    lines = plot(values, room, height, series.usual if look.spikes else look.top)
    said = f"  last {look.words(series.last):<7} max {look.words(series.highest)}"
    spans: list[Span | str] = []
    for n, line in enumerate(lines):
        end = n == len(lines) - 1
        spans += [(fit(label if end else "", _LABEL), _QUIET), (line, look.style), f"{said if end else ''}\n"]
    return spans


def _missing(figures: LaneFigures | None) -> str:
    """That some readings failed, and why."""
    server = (figures and figures.server) or {}
    missing, readings = server.get("missing") or 0, server.get("readings") or 0
    why = ", ".join(map(str, server.get("why") or ()))
    return f"△ {missing} of {missing + readings} readings failed ({why})" if missing else ""


def bands_text(figures: LaneFigures | None) -> list[Span | str]:
    """Separate bands of decode speed, with the acceptance in each, and how much acceptance explains."""
    if figures is None or not figures.bands:
        return []
    bands, fit_ = figures.bands, figures.band_fit or {}
    over = "turns" if fit_.get("over") == "turns" else "readings"
    spans: list[Span | str] = [(f"≡ {len(bands)} separate bands of speed\n", "bold $secondary")]
    for band in bands:
        acceptance = f", acceptance {band['acceptance']:.0%}" if band.get("acceptance") is not None else ""
        speed = f"{number(band['low'])}–{number(band['high'])} tok/s"
        spans.append(f"{'':<{_LABEL}}{speed:<20}{band['share']:.0%} of {over}{acceptance}\n")
    explained = fit_.get("explained_by_acceptance")
    if explained is not None:
        spans.append((f"{'':<{_LABEL}}draft acceptance explains {explained:.0%} of the difference\n", _QUIET))
    return spans
