"""What each lane was asked to run with, and what its server says of itself; what differs comes first."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence

import orjson
from rich.cells import cell_len
from textual.content import Content

from replayer.journal.view import LaneView
from replayer.metrics.figures import lane_facts
from replayer.tui.text import DASH, Span, content, fit, safe
from replayer.wire.types import JsonObject

Settings = JsonObject

_QUIET = "$foreground-muted"
_NAME, _LEAST, _MOST = 22, 14, 40
"""Sessions of the table's first column, and least and most of a lane's."""
_GAP = "  "


def differing_settings(lanes: Sequence[LaneView]) -> dict[str, Settings]:
    """Per lane the settings in which the lanes are not all alike."""
    asked = {lane.name: _asked(lane) for lane in lanes}
    different = [key for key in _keys(asked) if _differs(key, asked)]
    return {name: {key: values[key] for key in different if key in values} for name, values in asked.items()}


def settings_lines(differing: Settings, width: int) -> list[list[Span]]:
    """`temperature 0.9  top_p 0.95` in as many lines as it takes, each pair whole on one of them."""
    lines: list[list[Span]] = [[]]
    used = 0
    for name, value in differing.items():
        words = _words(value)
        size = cell_len(safe(f"{name} {words}"))
        if lines[-1] and used + len(_GAP) + size > width:
            lines.append([])
            used = 0
        gap = _GAP if lines[-1] else ""
        lines[-1] += [(f"{gap}{name} ", _QUIET), (words, "")]
        used += len(gap) + size
    return lines if differing else [[("same settings as the others", _QUIET)]]


def settings_table(lanes: Sequence[LaneView], width: int) -> Content:
    """Every setting and every fact of every lane; `≠` where the lanes differ."""
    room = (width - _NAME - 2) // max(1, len(lanes)) - 2
    column = max(_LEAST, min(_MOST, room))
    spans: list[Span | str] = [(fit("", _NAME + 2), "")]
    spans += [(fit(lane.name, column) + "  ", "bold") for lane in lanes]
    asked = {lane.name: _everything_asked(lane) for lane in lanes}
    reported = {
        lane.name: {"kind": lane.kind, "model": lane.model} | lane_facts(lane.facts) for lane in lanes
    }
    for title, values in (("asked for", asked), ("what the server says", reported)):
        spans.append((f"\n\n{title}", "bold $primary"))
        keys = sorted(_keys(values), key=lambda key: not _differs(key, values))
        for key in keys:
            spans += _table_row(key, values, column)
    spans.append(("\n\n≠ the lanes differ here; what differs stands first", _QUIET))
    return content(*spans)


def _table_row(key: str, values: Mapping[str, Settings], column: int) -> list[Span | str]:
    differs = _differs(key, values)
    spans: list[Span | str] = ["\n", ("≠ " if differs else "  ", "$warning"), (fit(key, _NAME), _QUIET)]
    for found in values.values():
        words = _words(found[key]) if found.get(key) is not None else DASH
        spans.append((f"{fit(words, column)}  ", "bold" if differs else ""))
    return spans


def _keys(values: Mapping[str, Settings]) -> list[str]:
    return list(dict.fromkeys(key for found in values.values() for key in found))


def _differs(key: str, values: Mapping[str, Settings]) -> bool:
    return len({str(found.get(key)) for found in values.values()}) > 1


def _asked(lane: LaneView) -> Settings:
    """What the plan sets; the kind stands in the line above."""
    flat = ChainMap(*(lane.settings.get(part, {}) for part in ("facts", "options", "extra", "sampling")))
    return {key: value for key, value in flat.items() if key != "kind" or value != lane.facts.get("kind")}


def _everything_asked(lane: LaneView) -> Settings:
    named = ("sampling", "extra", "options", "facts", "urls")
    return _asked(lane) | {key: value for key, value in lane.settings.items() if key not in named}


def _words(value: object) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_words, value))
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
