"""The pictures of a report as Vega-Lite specifications. Colours are variables of the style sheet, so that the page follows
its reader's theme; `pictures.svg` puts light ones in their place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import TypeVar

from replayer.journal.packing import bin_ms
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.catalogue import METRICS
from replayer.metrics.documents import LaneFigures
from replayer.metrics.run_documents import Standing
from replayer.metrics.shown import fault_words
from replayer.text import safe
from replayer.wire.types import Json, JsonObject

T = TypeVar("T")

COLOURS = 8
"""They come round again."""
MOST_LANES = 8
"""Panels of one lane each are drawn for so many."""
_MOST_POINTS = 300
_LONG_NAME = 16
"""Characters of a lane's name that fit an axis."""
_LEAST_MS = 0.1
"""Where a logarithmic axis of times begins."""
_ROW = 30
"""Pixels of a lane in a chart of rows."""


@dataclass(frozen=True, slots=True)
class Chart:
    """`spec` without data of its own size: as wide as its place."""

    key: str
    title: str
    spec: JsonObject
    note: str = ""


def chart(
    key: str, title: str, height: int, layers: list[JsonObject], note: str = "", **more: object
) -> Chart:
    config = {
        "background": None,
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {"labelColor": "var(--soft)", "titleColor": "var(--soft)", "gridColor": "var(--rule)",
                 "domainColor": "var(--rule)", "tickColor": "var(--rule)", "titleFontWeight": "normal",
                 "labelFontSize": 11, "titleFontSize": 11, "labelLimit": 110},
        "legend": {"orient": "top", "columns": 3, "labelLimit": 120, "labelColor": "var(--ink)", "title": None,
                   "symbolStrokeWidth": 3, "labelFontSize": 11},
    }  # fmt: skip
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": title,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": config,
        "layer": layers,
    }
    return Chart(key, title, spec | more, note)


def layer(mark: JsonObject, rows: list[JsonObject] | None, **encoding: Json) -> JsonObject:
    """Marks for some rows; for the chart's own where they are None."""
    return ({} if rows is None else {"data": {"values": rows}}) | {"mark": mark, "encoding": encoding}


def lane_colour(lanes: Sequence[str], *, legend: bool = True) -> JsonObject:
    scale = {"domain": list(map(safe, lanes)), "range": [f"var(--c{n % COLOURS})" for n in range(len(lanes))]}
    return {"field": "lane", "type": "nominal", "scale": scale} | ({} if legend else {"legend": None})


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names for a legend: without what all share before a `+`; keys of long settings by their initials."""
    shared = commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 - characters are meant
    cut = shared.rfind("+") + 1 if max(map(len, names), default=0) > _LONG_NAME else 0
    return {name: _initials(name[cut:]) for name in names}


def _initials(name: str) -> str:
    if len(name) <= _LONG_NAME:
        return name
    return re.sub(
        r"[a-z]+(?:_[a-z]+)*(?==)", lambda key: "".join(word[0] for word in key[0].split("_")), name
    )


def relabelled(found: Chart, names: dict[str, str]) -> Chart:
    """The same chart with short names where a lane's name stands alone."""

    def change(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: change(one) for key, one in value.items()}
        if isinstance(value, list):
            return [change(one) for one in value]
        return names.get(value, value) if isinstance(value, str) else value

    title = found.title
    for name, short in names.items():
        title = title.replace(name, short) if len(name) > _LONG_NAME else title
    return replace(found, title=title, spec=change(found.spec))


def number(field: str, title: str | None, **more: object) -> JsonObject:
    return {"field": field, "type": "quantitative", "title": title} | more


def tip(**fields: str) -> list[JsonObject]:
    """What hovering shows: words and field, or `field|format`."""
    return [
        {"field": field, "title": words.replace("_", " "), "type": "quantitative", "format": form}
        if form
        else {"field": field, "title": words.replace("_", " "), "type": "nominal"}
        for words, (field, _, form) in ((words, spec.partition("|")) for words, spec in fields.items())
    ]


def standing(standings: Sequence[Standing], lanes: Sequence[str]) -> list[Chart]:
    """Lanes in their order: usable turns with interval, and the effect against the first."""
    order = [safe(one.lane) for one in standings]
    y = {"field": "lane", "type": "nominal", "scale": {"domain": order}, "title": None}
    rows = [
        {"lane": safe(one.lane), "value": one.value, "low": one.low, "high": one.high, "n": one.n}
        for one in standings
        if one.value is not None
    ]
    if not rows:
        return []
    share = {"axis": {"format": "%", "tickCount": 4}, "scale": {"zero": False, "nice": True}}
    height = _ROW * len(standings) + 12
    hover = tip(lane="lane", usable="value|.1%", from_="low|.1%", to="high|.1%", turns="n|,d")
    found = [
        _intervals(
            "usable", "Usable turns, 95 % interval", height, rows, y, lanes, "usable turns", share, hover
        )
    ]
    return [*found, *_effect(standings, lanes, height, y)]


def _effect(standings: Sequence[Standing], lanes: Sequence[str], height: int, y: JsonObject) -> list[Chart]:
    known = [one for one in standings if one.metric is not None]
    if not known:
        return []
    metric = METRICS[str(known[0].metric)]
    scale = 100 if metric.unit == "points" else 1
    rows = [
        {"lane": safe(one.lane), "value": _times(one.difference, scale), "low": _times(one.difference_low, scale),
         "high": _times(one.difference_high, scale), "decided": "yes" if one.decided else "no"}
        for one in known
    ]  # fmt: skip
    hover = tip(
        lane="lane", difference="value|+,.3~r", from_="low|+,.3~r", to="high|+,.3~r", decided="decided"
    )
    zero = {"mark": {"type": "rule", "color": "var(--soft)", "aria": False}, "encoding": {"x": {"datum": 0}}}
    title = f"Effect against {safe(standings[0].lane)}, 95 % interval"
    axis = f"{metric.words}, {metric.unit}"
    return [
        _intervals("effect", title, height, rows, y, lanes, axis, {"axis": {"tickCount": 4}}, hover, zero)
    ]


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _intervals(
    key: str, title: str, height: int, rows: list[JsonObject], y: JsonObject, lanes: Sequence[str], axis: str, scale: JsonObject,
    hover: list[JsonObject], *under: JsonObject,
) -> Chart:  # fmt: skip
    colour = lane_colour(lanes, legend=False)
    layers = [
        {"mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.55, "strokeCap": "round"},
         "encoding": {"x": number("low", axis, **scale), "x2": {"field": "high"}, "y": y, "color": colour}},
        {"mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
         "encoding": {"x": number("value", axis, **scale), "y": y, "color": colour, "tooltip": hover}},
    ]  # fmt: skip
    return chart(key, title, height, [*under, *layers], data={"values": rows})


def faults(lanes: Sequence[LaneFigures]) -> list[Chart]:
    """Turns with a fault of each class, a bar a lane; stacked where lanes are many."""
    rows = [
        {"lane": safe(lane.lane), "fault": fault_words(name), "turns": count}
        for lane in lanes
        for name, count in lane.faults.items()
    ]
    if not rows:
        return []
    hit = [safe(lane.lane) for lane in lanes if lane.faults]
    beside = len(hit) <= 4
    classes = len({row["fault"] for row in rows})
    encoding = {
        "y": {"field": "fault", "type": "nominal", "title": None, "sort": "-x", "axis": {"labelLimit": 150}},
        "x": number("turns", "turns", axis={"tickMinStep": 1, "tickCount": 4}),
        "color": lane_colour([lane.lane for lane in lanes]),
        "tooltip": tip(lane="lane", fault="fault", turns="turns|,d"),
    }
    if beside:
        encoding["yOffset"] = {"field": "lane", "type": "nominal", "scale": {"domain": hit}}
    bar = {"mark": {"type": "bar", "height": {"band": 0.9}}, "encoding": encoding}
    height = classes * max(22, 12 * len(hit) + 6 if beside else 22)
    return [chart("faults", "Turns with a fault, by class", height, [bar], data={"values": rows})]


def prefix(lanes: Sequence[LaneFigures]) -> list[Chart]:
    """The share of the prompts that came from the cache, by turn of a session, against the best possible."""
    known = [lane for lane in lanes if any(point.reported is not None for point in lane.prefix_cache.curve)]
    last = max((lane.prefix_cache.curve[-1].turn + 1 for lane in known), default=0)
    if last < 2:
        return []
    scales = {
        "x": number("turn", "turn of a session", scale={"domain": [1, last]}, axis={"tickMinStep": 1, "format": "d"}),
        "y": number("share", "share of the prompt", scale={"domain": [0, 1]}, axis={"format": "%", "tickCount": 4}),
    }  # fmt: skip
    names = [lane.lane for lane in lanes]
    if len(known) > 4:
        rows = [row for lane in known for row in _reuse(lane)]
        line = {"mark": {"type": "line", "point": True}, "encoding": scales | {
            "color": lane_colour(names), "tooltip": tip(lane="lane", turn="turn", reused="share|.1%")}}  # fmt: skip
        return [chart("prefix", "Prompt from the prefix cache", 200, [line], data={"values": rows})]
    return [_prefix(lane, names.index(lane.lane), scales) for lane in known]


def _reuse(lane: LaneFigures) -> list[JsonObject]:
    curve = _thin(lane.prefix_cache.curve)
    return [
        {"lane": safe(lane.lane), "turn": point.turn + 1, "share": point.reported, "possible": point.ideal}
        for point in curve
    ]


def _prefix(lane: LaneFigures, place: int, scales: JsonObject) -> Chart:
    rows = _reuse(lane)
    possible = scales["y"] | {"field": "possible"}
    hover = tip(turn="turn", reused="share|.1%", best_possible="possible|.1%")
    layers = [
        {"mark": {"type": "line", "color": "var(--soft)", "strokeDash": [4, 3], "strokeWidth": 2},
         "encoding": {"x": scales["x"], "y": possible}},
        {"mark": {"type": "line", "point": {"filled": True, "size": 36, "color": f"var(--c{place % COLOURS})"},
                  "color": f"var(--c{place % COLOURS})"},
         "encoding": scales | {"tooltip": hover}},
    ]  # fmt: skip
    name = safe(lane.lane)
    return chart(f"prefix-{place + 1}", f"{name}: prompt from the prefix cache", 170, layers,
                 "solid: reused; dashed: best possible", data={"values": rows})  # fmt: skip


def speeds(view: RunView, lanes: Sequence[LaneFigures]) -> list[Chart]:
    """Per lane the speed of each reply in the order sent, its bands shaded; all lanes on one scale."""
    found = []
    rows = {lane.name: _speed_rows(lane) for lane in view.lanes[:MOST_LANES]}
    every = sorted(row["speed"] for some in rows.values() for row in some)
    top = (
        every[int(0.98 * (len(every) - 1))] * 1.3 if every else 0.0
    )  # one short reply would flatten all others
    for place, (lane, figures) in enumerate(zip(view.lanes, lanes, strict=True)):
        if some := rows.get(lane.name):
            bands = [{"low": band["low"], "high": band["high"]} for band in figures.bands]
            found.append(_speed(safe(lane.name), place, some, bands, top))
    return found


def _speed_rows(lane: LaneView) -> list[JsonObject]:
    turns = sorted(lane.turns, key=lambda turn: turn.wall)
    return _thin([
        {"reply": at, "speed": round(turn.decode_tok_s, 2), "accepted": _accepted(turn)}
        for at, turn in enumerate(turns, 1)
        if turn.decode_tok_s is not None and not turn.stalled
    ])  # fmt: skip


def _accepted(turn: TurnFacts) -> float | None:
    return round((turn.accepted or 0) / turn.drafted, 4) if turn.drafted else None


def _speed(name: str, place: int, rows: list[JsonObject], bands: list[JsonObject], top: float) -> Chart:
    y = {"type": "quantitative", "title": "tok/s", "scale": {"domain": [0, top]}, "axis": {"tickCount": 5}}
    layers: list[JsonObject] = [
        {"data": {"values": rows}, "mark": {"type": "point", "filled": True, "size": 22, "clip": True, "color": f"var(--c{place % COLOURS})"},
         "encoding": {"x": number("reply", "reply, in the order sent", axis={"tickMinStep": 1, "format": "d"}),
                      "y": y | {"field": "speed"}, "tooltip": tip(reply="reply", tok_per_s="speed|.0f")}},
    ]  # fmt: skip
    if bands:
        shade = {"data": {"values": bands}, "mark": {"type": "rect", "color": "var(--soft)", "opacity": 0.2},
                 "encoding": {"y": y | {"field": "low"}, "y2": {"field": "high"}}}  # fmt: skip
        layers.insert(0, shade)
    notes = [f"{len(bands)} speed bands shaded"] if bands else []
    above = sum(row["speed"] > top for row in rows)
    notes += [f"{above} above the scale"] if above else []
    return chart(f"speed-{place + 1}", f"{name}: decode speed", 170, layers, "; ".join(notes))


def acceptance(view: RunView) -> list[Chart]:
    """Is the speed tied to what of the draft is accepted? A point a reply."""
    rows = [
        {"lane": safe(lane.name), **row}
        for lane in view.lanes
        for row in _speed_rows(lane)
        if row["accepted"] is not None
    ]
    if not rows:
        return []
    share = {"scale": {"zero": False}, "axis": {"format": "%", "tickCount": 5}}
    points = {"mark": {"type": "point", "filled": True, "size": 26}, "encoding": {
        "x": number("accepted", "share of drafted tokens accepted", **share),
        "y": number("speed", "tok/s", axis={"tickCount": 5}), "color": lane_colour([lane.name for lane in view.lanes]),
        "tooltip": tip(lane="lane", accepted="accepted|.1%", tok_per_s="speed|.0f")}}  # fmt: skip
    return [chart("acceptance", "Decode speed by draft acceptance", 200, [points], data={"values": rows})]


def distributions(view: RunView) -> list[Chart]:
    """Cumulative shares of time to first token and of time between tokens, all lanes in one chart."""
    ttft = {
        lane.name: Counter(
            turn.ttft_ns / 1e6 for turn in lane.turns if turn.ttft_ns is not None and not turn.stalled
        )
        for lane in view.lanes
    }
    gaps = {lane.name: _gaps(lane.attempts) for lane in view.lanes}
    both = (("ttft", "Time to first token (TTFT)", ttft), ("itl", "Time between tokens (ITL)", gaps))
    return [found for key, title, counts in both if (found := _cumulative(key, title, counts)) is not None]


def _gaps(attempts: Iterable[Attempt]) -> Counter[float]:
    found: Counter[float] = Counter()
    for attempt in attempts:
        for index, count in attempt.gaps.items():
            found[bin_ms(index)] += count
    return found


def _cumulative(key: str, title: str, lanes: dict[str, Counter[float]]) -> Chart | None:
    rows = [
        {"lane": safe(name), "ms": round(value, 4), "share": round(share, 4)}
        for name, counts in lanes.items()
        for value, share in _thin(_shares(counts))
        if value >= _LEAST_MS
    ]
    if not rows:
        return None
    line = {"mark": {"type": "line", "interpolate": "step-after"}, "encoding": {
        "x": number("ms", "ms, logarithmic", scale={"type": "log", "nice": False}, axis={"tickCount": 5, "format": "~g"}),
        "y": number("share", "cumulative share", scale={"domain": [0, 1]}, axis={"format": "%", "tickCount": 4}),
        "color": lane_colour(list(lanes)), "tooltip": tip(lane="lane", ms="ms|.3~r", share="share|.1%")}}  # fmt: skip
    return chart(key, title, 200, [line], data={"values": rows})


def _shares(counts: Counter[float]) -> list[tuple[float, float]]:
    total, seen, points = sum(counts.values()), 0, []
    for value in sorted(counts):
        seen += counts[value]
        points.append((value, seen / total))
    return points


def _thin(points: Sequence[T]) -> list[T]:
    """At most some hundreds, evenly taken, the last one kept."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    apart = len(points) / _MOST_POINTS
    return [points[int(at * apart)] for at in range(_MOST_POINTS)] + [points[-1]]
