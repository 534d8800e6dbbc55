"""Charts of load plans: throughput, TTFT and usable share against load, one line per lane; times by answer length."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replayer.metrics.catalogue import METRICS
from replayer.metrics.documents import LaneFigures, Slice, Steady
from replayer.metrics.run_documents import Ramp, RunFigures
from replayer.report.charts import Chart, chart, lane_colour, layer, number, tip
from replayer.text import safe
from replayer.wire.types import JsonObject

_AGAINST_LOAD = ("output_tok_s", "ttft_ms.p95", "usable_turn_rate", "goodput")
_SHARE = {"scale": {"domainMax": 1}, "axis": {"format": "%", "tickCount": 4}}


def load(document: RunFigures) -> list[Chart]:
    """One chart a figure; saturation is marked at its level."""
    ramps, lanes = document.saturation, {lane.lane: lane for lane in document.lanes}
    found = [_ramps(key, ramps, lanes) for key in _AGAINST_LOAD if ramps]
    return [one for one in found if one is not None] + steady(document) + crossovers(document)


def _ramps(key: str, ramps: Sequence[Ramp], lanes: dict[str, LaneFigures]) -> Chart | None:
    metric = METRICS[key]
    rows = [
        {"lane": safe(ramp.ramp), "at": at, "value": value}
        for ramp in ramps
        for (at, _), name in zip(ramp.points, ramp.lanes, strict=True)
        if (value := lanes[name].figures[key]) is not None
    ]
    if not rows:
        return None
    share = metric.unit == "points"
    label = metric.label[0].upper() + metric.label[1:].removesuffix(" of a lane")
    unit = label if share or metric.unit in label else f"{label}, {metric.unit}"
    names = [ramp.ramp for ramp in ramps]
    ends = [{"lane": safe(ramp.ramp), "at": ramp.level} for ramp in ramps if ramp.saturated]
    y = number("value", unit, **(_SHARE if share else {"axis": {"tickCount": 5}}))
    note = "dashed: saturated from here, within 5 % of the best throughput" if ends else ""
    layers = marks(ends, names, "requests at once", saturated_from="at")
    layers += curves(rows, "at", "requests at once", y, names, "value|.1%" if share else "value|,.1f")
    return chart(f"load-{key.replace('.', '-')}", f"{label} against load", 200, layers, note)


def marks(rows: list[JsonObject], names: list[str], title: str, **words: str) -> list[JsonObject]:
    """A dashed line of a lane's colour at its level `at`."""
    rule, hover = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5}, tip(lane="lane", **words)
    found = layer(rule, rows, x=_levels("at", title), color=lane_colour(names), tooltip=hover)
    return [found] if rows else []


def _levels(field: str, title: str) -> JsonObject:
    axis = {"format": "~s", "tickCount": 6}
    return number(field, title, scale={"type": "log", "base": 2, "nice": False}, axis=axis)


def curves(
    rows: list[JsonObject], field: str, title: str, y: JsonObject, names: list[str], value: str
) -> list[JsonObject]:
    line, hover = _line(50), tip(lane="lane", load=field, value=value)
    return [layer(line, rows, x=_levels(field, title), y=y, color=lane_colour(names), tooltip=hover)]


def _line(size: int) -> JsonObject:
    return {"type": "line", "point": {"filled": True, "size": size}}


_SLICED: tuple[tuple[str, str, str, Callable[[Steady], list[Slice]], Callable[[Slice], float | None]], ...] = (
    ("over-time-tokens", "Output tok/s over time", "tok/s", lambda one: one.over_time, lambda part: part.output_tok_s),
    ("over-time-ttft", "TTFT p95 over time", "ms", lambda one: one.over_time, lambda part: part.ttft_ms.p95),
    ("by-turn-usable", "Usable turns by turn of the session", "", lambda one: one.by_turn,
     lambda part: part.usable_turn_rate.value),
    ("by-prompt-ttft", "TTFT p95 by prompt length", "ms", lambda one: one.by_prompt, lambda part: part.ttft_ms.p95),
)  # fmt: skip
"""Key, title, unit (none is a share), which parts of the load, and their figure."""


def steady(document: RunFigures) -> list[Chart]:
    """A load that keeps sessions alive: over time, by turn, by prompt length."""
    names = [lane.lane for lane in document.lanes]
    loaded = [(safe(lane.lane), lane.steady) for lane in document.lanes if lane.steady is not None]
    found = []
    for key, title, unit, parts, figure in _SLICED:
        rows = [
            {"lane": name, "of": part.of, "value": value}
            for name, one in loaded
            for part in parts(one)
            if (value := figure(part)) is not None
        ]
        if len({row["of"] for row in rows}) > 1:
            y = number("value", unit or "share", **({"axis": {"tickCount": 5}} if unit else _SHARE))
            axis = {"labelAngle": 0, "labelOverlap": True}
            of = {"field": "of", "type": "ordinal", "sort": None, "title": None, "axis": axis}
            hover = tip(lane="lane", of="of", value="value|,.1f" if unit else "value|.1%")
            line = layer(_line(40), None, x=of, y=y, color=lane_colour(names), tooltip=hover)
            found.append(chart(key, title, 200, [line], data={"values": rows}))
    return found


def crossovers(document: RunFigures) -> list[Chart]:
    found = []
    for at, pair in enumerate(document.crossovers):
        rows = [
            {"lane": safe(name), "length": level.length, "value": value / 1000}
            for level in pair.levels
            for name, value in ((pair.a, level.value_a), (pair.b, level.value_b))
        ]
        y = number("value", "s", axis={"tickCount": 5})
        layers = curves(rows, "length", "answer length in tokens", y, [pair.a, pair.b], "value|.2f")
        title = f"Time of a whole answer: {safe(pair.a)} and {safe(pair.b)}"
        found.append(chart(f"lengths-{at + 1}", title, 200, layers))
    return found
