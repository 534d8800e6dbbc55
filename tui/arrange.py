"""Which rows the columns have room for, and how many lines each: the same in every column, so that the eye compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replayer.tui.rows import ROWS, Row

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
