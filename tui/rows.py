"""The comparison rows: one per figure, the same for every lane. A dash always has a reason.

`arrange` chooses those that the columns have room for, and the lines of each, so that the eye compares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics import rows as figures
from replayer.metrics.conclusions import lane_conclusion
from replayer.metrics.documents import CurvePoint, LaneFigures
from replayer.metrics.turn_values import decode_tok_s
from replayer.tui.curves import usual
from replayer.tui.text import DASH


@dataclass(frozen=True, slots=True)
class Cell:
    """What one lane shows in one row. `reason` explains a dash, in `brief` where there is no room for all of it;
    `more` is what else there is to say. A row that is a curve has `values` by turn, on a scale up to `top`; where several
    share a cell, it shows their mean, or the `lowest` of them."""

    text: str
    style: str = ""
    reason: str = ""
    brief: str = ""
    more: str = ""
    values: Sequence[float | None] = ()
    top: float | None = None
    lowest: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """`compared` names the comparison that decides whether a better value is marked; rows of high `rank` are the first
    to be left out on a low screen."""

    label: str
    short: str
    cell: Callable[[LaneView, LaneFigures, int], Cell]
    rank: int
    compared: str | None = None
    curve: bool = False
    title: str = ""
    """Of the group that begins with this row."""


def unknown(reason: str, brief: str) -> Cell:
    return Cell(DASH, "$foreground-muted", reason, brief)


def _of(
    row: figures.Row, style: Callable[[LaneFigures], str]
) -> Callable[[LaneView, LaneFigures, int], Cell]:
    """The row of the report, in the longest form for which there is room."""

    def cell(lane: LaneView, found: LaneFigures, width: int) -> Cell:
        forms = row.forms(found)
        if not forms:
            return unknown(*row.unknown(found))
        text = next((form for form in forms if len(form) <= width), forms[-1])
        return Cell(text, style(found), more=f"{forms[0]}: {row.legend}")

    return cell


def _usable(lane: LaneView, found: LaneFigures, width: int) -> Cell:
    """Explained by all that the report says of the lane."""
    cell = _of(figures.BY_SHORT["usable"], lambda _: "")(lane, found, width)
    return cell if cell.reason else replace(cell, more=lane_conclusion(found).words)


def _prefix(found: LaneFigures) -> str:
    """No alarm where nobody knows why."""
    return "$warning" if found.prefix_cache.cause not in (None, "unknown", "not_reported") else ""


def _faults(lane: LaneView, found: LaneFigures, width: int) -> Cell:
    if not found.faults:
        return Cell("none")
    text = figures.counted(dict(sorted(found.faults.items(), key=lambda pair: -pair[1])))
    blame = figures.counted(found.blames)
    return Cell(text, "$error" if blame else "$warning", more=f"{text}\nblamed on: {blame or 'nobody'}")


def _prefix_curve(
    share: Callable[[CurvePoint], float | None],
) -> Callable[[LaneView, LaneFigures, int], Cell]:
    """Shares by turn on a scale up to 1, so that two curves can be compared."""

    def cell(lane: LaneView, found: LaneFigures, width: int) -> Cell:
        values = [share(turn) for turn in found.prefix_cache.curve]
        if not any(value is not None for value in values):
            return unknown("not known of any turn", "not known")
        words = "share of the prompt by turn, full height 100 %; where turns share a cell, the lowest"
        return Cell("", "$primary", more=words, values=values, top=1.0, lowest=True)

    return cell


def _decode_curve(lane: LaneView, found: LaneFigures, width: int) -> Cell:
    values = [decode_tok_s(turn) for turn in newest_turns(lane)]
    if not any(values):
        return unknown(*figures.BY_SHORT["tok/s"].unknown(found))
    top = usual([value or 0.0 for value in values])
    return Cell("", "$secondary", more="tokens/s by turn of the newest session", values=values, top=top)


def newest_turns(lane: LaneView) -> Sequence[TurnFacts]:
    """The finished turns of the lane's newest session, in order."""
    newest = max(lane.attempts.recent(), key=attrgetter("started"), default=None)
    turns = {} if newest is None else newest.turns
    return [turn for _, turn in sorted(turns.items()) if turn.total_ns is not None]


def _report(
    short: str, rank: int, style: Callable[[LaneFigures], str] = lambda _: "", title: str = ""
) -> Row:
    row = figures.BY_SHORT[short]
    return Row(row.label, row.short, _of(row, style), rank, row.compared, title=title)


ROWS = (
    Row("usable turns", "usable", _usable, 0, "usable_turn_rate", title="answers"),
    _report("calls", 1, lambda found: "$error" if found.tool_calls.invalid else ""),
    Row("faults in turns", "faults", _faults, 2),
    _report("errors", 9, lambda found: "$error" if found.errors else ""),
    _report("sandbox", 5, lambda found: "$warning" if found.tool_calls.failed_execution else ""),
    _report("collapse", 3, lambda found: "$error bold" if found.repetition.collapsed_turns else ""),
    _report("prefix", 4, _prefix, "prefix cache"),
    _report("not reused", 8, lambda found: _prefix(found) or "$foreground-muted"),
    Row("  reused by turn", "reused", _prefix_curve(attrgetter("reported")), 13, curve=True),
    Row("  best possible", "possible", _prefix_curve(attrgetter("ideal")), 14, curve=True),
    _report("TTFT ms", 6, title="speed and memory"),
    _report("ITL ms", 12),
    _report("tok/s", 7),
    Row("  by turn", "by turn", _decode_curve, 15, curve=True),
    _report("accepted", 10),
    _report("KV", 11),
)


_HEAD = 5
"""Engine, one line of settings, progress, turns and their legend."""
_STREAM, _ROOMY_STREAM = 4, 6
"""Lines that the replies keep: on any screen, and before any part gets a second line."""
_TIGHT = 34
"""Lines of a column below which there is no air between its parts."""
_LEAST_ROWS = 4
_MOST_SETTINGS, _MOST_TEXT, _MOST_CURVE = 4, 3, 3
_TITLES_FROM, _CURVES_FROM = 14, 30
"""Spare lines from which on groups of rows have titles, and curves more than one line."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`settings` are the lines of the settings; `rows` are shown, each with its lines."""

    settings: int
    rows: tuple[tuple[Row, int], ...]
    titled: bool
    tight: bool


def arrange(height: int, settings: int, wanted: Mapping[Row, int], *, alarm: bool) -> Arrangement:
    """For columns of `height` lines; `settings` and `wanted` are the lines that the widest text would fill."""
    tight = height < _TIGHT
    air, banner = (0, 2) if tight else (2, 3)
    room = height - _HEAD - _STREAM - air - (banner if alarm else 0)
    kept = sorted(ROWS, key=lambda row: row.rank)[: max(_LEAST_ROWS, room)]
    rows = [row for row in ROWS if row in kept]
    spare = room - len(rows) - (_ROOMY_STREAM - _STREAM)
    wishes = [min(settings, 2) - 1]
    wishes += [0 if row.curve else min(wanted.get(row, 1), _MOST_TEXT) - 1 for row in rows]
    first, *extra = _granted(spare, wishes)
    spare -= first + sum(extra)
    last = max(0, min(min(settings, _MOST_SETTINGS) - 2, spare - _ROOMY_STREAM))
    spare -= last
    titled = spare >= _TITLES_FROM
    curve = _MOST_CURVE if spare >= _CURVES_FROM else 1
    lines = [curve if row.curve else 1 + more for row, more in zip(rows, extra, strict=True)]
    return Arrangement(1 + first + last, tuple(zip(rows, lines, strict=True)), titled, tight)


def _granted(spare: int, wishes: Sequence[int]) -> list[int]:
    """What each gets of the spare lines, first come, first served."""
    given = []
    for wish in wishes:
        given.append(max(0, min(wish, spare)))
        spare -= given[-1]
    return given
