"""What the engines say of themselves over time: one block of curves per lane."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from replayer.events import TelemetryRead
from replayer.tui.keys import Keys
from replayer.tui.rows import newest_steps, number
from replayer.tui.source import Frame
from replayer.tui.text import DASH, Span, content, fit, sparkline
from replayer.view import LaneView

_LABEL = 26


class TelemetryScreen(Screen[None]):
    """Tokens/s, acceptance, KV use, queue and GPU over time, and the bands of decode speed."""

    DEFAULT_CSS = """
    TelemetryScreen > VerticalScroll { padding: 0 1; }
    TelemetryScreen Static { height: auto; }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="curves", markup=False)
        yield Keys()

    def show(self, frame: Frame) -> bool:
        target = self.query_one("#curves", Static)
        width = max(20, self.size.width - 4)
        spans: list[Span | str] = []
        for view in frame.views:
            for lane in view.lanes:
                spans += _block(lane, frame.figures.get(lane.name, {}), width)
        target.update(content(*spans) if spans else Content("no lane yet"))
        return True


def _block(lane: LaneView, figures: dict[str, Any], width: int) -> list[Span | str]:
    samples = lane.telemetry
    rows = [
        ("decode tok/s by turn", [step.decode_tok_s for step in newest_steps(lane)], "client clock"),
        ("server tok/s", rates(samples, "generated_tokens"), "metrics"),
        ("draft acceptance", shares(samples, "accepted", "drafted"), "metrics"),
        ("KV use", column(samples, "kv_used"), "metrics"),
        ("running", column(samples, "running"), "metrics"),
        ("waiting", column(samples, "waiting"), "metrics"),
        ("preempted", rates(samples, "preempted"), "metrics"),
        *(
            (f"GPU {name}", column(samples, f"gpu_{name}"), "NVML or DCGM")
            for name in ("utilisation", "power", "temperature", "memory")
        ),
    ]
    spans: list[Span | str] = [(f"{lane.name}\n", "bold")]
    for label, values, source in rows:
        known = [value for value in values if value is not None]
        if label.startswith("GPU") and not known:
            continue
        spans += [(fit(label, _LABEL), "$foreground-muted")]
        if not known:
            spans.append((f"{DASH} not reported ({source})\n", "$foreground-muted"))
            continue
        room = max(10, width - _LABEL - 40)
        spans += [
            (sparkline(values, room), "$primary"),
            f"  now {number(known[-1])}  max {number(max(known))} ",
            (f"{source}\n", "$foreground-muted"),
        ]
    return [*spans, *_bands(figures), "\n"]


def _bands(figures: dict[str, Any]) -> list[Span | str]:
    bands = figures.get("bands") or []
    if len(bands) < 2:
        return []
    spans: list[Span | str] = [(fit("bands of decode speed", _LABEL), "$foreground-muted")]
    for band in bands:
        acceptance = f", acceptance {band['acceptance']:.0%}" if band.get("acceptance") is not None else ""
        spans.append(
            f"{number(band['low'])}–{number(band['high'])} tok/s {band['share']:.0%} of turns{acceptance}   "
        )
    return [*spans, "\n"]


def column(samples: Sequence[TelemetryRead], name: str) -> list[float | None]:
    return [_value(sample, name) for sample in samples]


def _value(sample: TelemetryRead, name: str) -> float | None:
    value = sample.sample.get(name)
    if value is None:
        value = sample.sample.get("gauges", {}).get(name)
    return value if isinstance(value, int | float) else None


def rates(samples: Sequence[TelemetryRead], counter: str) -> list[float | None]:
    """Per second between readings; a counter that fell was reset, and that interval is unknown."""
    values: list[float | None] = []
    for before, after in pairwise(samples):
        a, b = _value(before, counter), _value(after, counter)
        seconds = (after.at - before.at) / 1e9
        values.append(None if a is None or b is None or b < a or seconds <= 0 else (b - a) / seconds)
    return values


def shares(samples: Sequence[TelemetryRead], part: str, whole: str) -> list[float | None]:
    """Growth of one counter over the growth of another; None where the second did not move."""
    values: list[float | None] = []
    for before, after in pairwise(samples):
        a, b = _value(before, part), _value(after, part)
        c, d = _value(before, whole), _value(after, whole)
        moved = None if c is None or d is None else d - c
        values.append(None if a is None or b is None or not moved or moved < 0 else (b - a) / moved)
    return values
