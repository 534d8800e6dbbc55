"""All steps × lanes, one sign per outcome; Enter opens a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from replayer.figures import wasted_tokens
from replayer.steps import Attempt, StepFacts
from replayer.tui import glyphs
from replayer.tui.keys import Keys
from replayer.tui.rows import number
from replayer.tui.source import Frame
from replayer.tui.step_table import Cells, Key, StepTable, Turns, place_of
from replayer.tui.text import DASH, Span, content, fit, safe
from replayer.view import LaneView

Session = tuple[str, int]
"""Trace, repeat."""
LaneSteps = dict[Session, Attempt]

_TURN_WIDTH, _LANE_WIDTH = (18, 32), (24, 64)
"""Least and most cells of the two kinds of columns."""
_TIME_WIDTH = 10
_FAULTY = (glyphs.UNUSABLE, glyphs.COLLAPSED, glyphs.FAILED, glyphs.CUT)


class OpenStep(Message):
    """The user wants to see a step."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        self.key = key


class TurnsScreen(Screen[None]):
    """A table of steps by lanes. `/` filters, `n` goes to the next fault, `f` follows the newest step."""

    BINDINGS: ClassVar = [
        Binding("slash", "filter", "Filter"),
        Binding("n", "next_fault(1)", "Fault"),
        Binding("N", "next_fault(-1)", "Fault before", show=False),
        Binding("f", "follow", "Follow the newest", show=False),
        Binding("escape", "clear", "Clear filter", show=False),
    ]

    DEFAULT_CSS = """
    TurnsScreen > #legend { height: 1; padding: 0 1; background: $panel; }
    TurnsScreen > StepTable { height: 1fr; scrollbar-size-vertical: 1; }
    TurnsScreen > #filter { display: none; height: 3; }
    TurnsScreen > #filter.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = StepTable(self._row)
        self._filter = Input(placeholder="session, fault, word of an outcome, prefix …", id="filter")
        self._turn_width, self._lane_width = _TURN_WIDTH[0], _LANE_WIDTH[0]
        self._lanes: list[LaneSteps] = []
        self._found: dict[Session, tuple[tuple[int | None, ...], list[Key]]] = {}
        """By session the rows that the filter leaves, and of which attempts they are."""
        self._words: list[str] = []
        self._frame: Frame | None = None
        self._following = False

    def compose(self) -> ComposeResult:
        yield Static(id="legend", markup=False)
        yield self._table
        yield self._filter
        yield Keys()

    def on_mount(self) -> None:
        self._table.focus()

    def show(self, frame: Frame) -> bool:
        self._frame = frame
        lanes = [lane for view in frame.views for lane in view.lanes]
        here = self._here()
        self._lanes = [by_session(lane) for lane in lanes]
        self._lay_out([lane.name for lane in lanes])
        turns = self._turns()
        keys = self._matching(turns) if self._filter.value.strip() else turns
        self._table.fill(keys, self._cursor(keys, here))
        count = f"{len(turns)} turns" if keys is turns else f"{len(keys)} of {len(turns)} turns"
        count += " · following" if self._following else ""
        self.query_one("#legend", Static).update(_legend(count, self.size.width - 2))
        return True

    def _lay_out(self, names: list[str]) -> None:
        """Columns share the width."""
        room = self.size.width - 2
        self._turn_width = max(_TURN_WIDTH[0], min(_TURN_WIDTH[1], room // (len(names) + 2)))
        share = (room - self._turn_width - 2) // max(1, len(names)) - 2
        self._lane_width = max(_LANE_WIDTH[0], min(_LANE_WIDTH[1], share))
        titles = (fit(name, self._lane_width - _TIME_WIDTH) + "TTFT".rjust(_TIME_WIDTH) for name in names)
        self._table.lay_out((fit("turn", self._turn_width), *titles))

    def _turns(self) -> Turns:
        """Every step that any lane has."""
        sessions: dict[Session, int] = {}
        for lane in self._lanes:
            for session, attempt in lane.items():
                last = next(reversed(attempt.steps), -1)
                sessions[session] = max(last + 1, sessions.get(session, 0))
        return Turns(sessions)

    def _matching(self, turns: Turns) -> list[Key]:
        """Rows with all words of the filter. A session that has ended is looked through once."""
        words = self._filter.value.lower().split()
        if words != self._words:
            self._words, self._found = words, {}
        found: list[Key] = []
        for session, count in turns.sessions():
            attempts = [lane[session] for lane in self._lanes if session in lane]
            state = tuple(attempt.number if attempt.ended else None for attempt in attempts)
            known = self._found.get(session)
            if known is None or None in state or known[0] != state:
                keys = [(*session, step) for step in range(count)]
                known = state, [key for key in keys if self._matches(key, words)]
                self._found[session] = known
            found += known[1]
        return found

    def _matches(self, key: Key, words: list[str]) -> bool:
        text = _searchable(key, self._steps(key))
        return all(word in text for word in words)

    def _steps(self, key: Key) -> list[StepFacts | None]:
        """Of every lane."""
        attempts = (lane.get(key[:2]) for lane in self._lanes)
        return [attempt.steps.get(key[2]) if attempt is not None else None for attempt in attempts]

    def _here(self) -> Key | None:
        """The turn under the cursor."""
        return self._table.keys[self._table.cursor] if self._table.keys else None

    def _cursor(self, keys: Sequence[Key], here: Key | None) -> int:
        """Where the cursor goes: to the end where it follows, else it stays on its turn."""
        if self._following:
            return len(keys) - 1
        place = place_of(keys, here) if here is not None else None
        return self._table.cursor if place is None else place

    def _row(self, key: Key) -> Cells:
        return [[(_label(key, self._turn_width), "")], *map(self._cell, self._steps(key))]

    def _cell(self, step: StepFacts | None) -> list[Span]:
        """The outcome in a sign and words, then the time to the first token."""
        glyph = glyphs.of(step)
        sign = (f"{glyph.sign} ", self._rich(glyph.style))
        if step is None or step.total_ns is None:
            return [sign, (fit(glyph.words, self._lane_width - 2), "dim")]
        room = self._lane_width - _TIME_WIDTH - 2
        words = safe(_said(step, glyph, room))
        said = fit(words, min(room, cell_len(words)))
        rest = room - cell_len(said)
        lost = fit(_lost_sign(step, rest), rest)
        return [
            sign,
            (said, "bold" if glyph in _FAULTY else ""),
            (lost, self._rich("$warning")),
            (_ttft(step).rjust(_TIME_WIDTH), "dim"),
        ]

    def _rich(self, style: str) -> str:
        """A style of the theme in colours that a table cell understands."""
        variables = self.app.theme_variables
        known = {name: variables[name] for name in ("success", "error", "warning", "accent")}
        words = [known.get(word[1:], "dim") if word.startswith("$") else word for word in style.split()]
        return " ".join(words)

    def on_step_table_opened(self, event: StepTable.Opened) -> None:
        self.post_message(OpenStep(event.key))

    def on_input_changed(self) -> None:
        if self._frame is not None:
            self.show(self._frame)

    def on_input_submitted(self) -> None:
        self._table.focus()

    def action_filter(self) -> None:
        self._filter.add_class("open")
        self._filter.focus()

    def action_clear(self) -> None:
        self._filter.value = ""
        self._filter.remove_class("open")
        self._table.focus()

    def action_follow(self) -> None:
        self._following = not self._following
        if self._frame is not None:
            self.show(self._frame)

    def action_next_fault(self, by: int) -> None:
        here = self._here()
        found = self.neighbour(here, by, faulty=True) if here is not None else None
        place = place_of(self._table.keys, found) if found is not None else None
        if place is None:
            self.notify("no step has a fault", markup=False)
        else:
            self._table.move_cursor(place)

    def neighbour(self, key: Key, by: int, *, faulty: bool = False) -> Key | None:
        """The row `by` places from a step; with `faulty` the next one with a fault, from the end on to the start."""
        keys = self._table.keys
        here = place_of(keys, key)
        if here is None:
            return None
        if not faulty:
            return keys[here + by] if 0 <= here + by < len(keys) else None
        around = (keys[(here + by * n) % len(keys)] for n in range(1, len(keys) + 1))
        return next((one for one in around if any(map(_faulty, self._steps(one)))), None)


def by_session(lane: LaneView) -> LaneSteps:
    return {(attempt.trace, attempt.repeat): attempt for attempt in lane.attempts}


def _faulty(step: StepFacts | None) -> bool:
    return glyphs.of(step) in _FAULTY


def _label(key: Key, width: int) -> str:
    trace, repeat, step = key
    again = f"#{repeat + 1} " if repeat else ""
    return fit(f"{step + 1:>4}  {again}{trace}", width)


def _said(step: StepFacts, glyph: glyphs.Glyph, room: int) -> str:
    if step.error is not None:
        return step.error.replace("_", " ")
    if glyph is glyphs.COLLAPSED:
        wasted = f"collapsed · {wasted_tokens(step)} tokens wasted"
        return wasted if len(wasted) <= room else "collapsed"
    return ", ".join(step.faults) or (glyph.words if len(glyph.words) <= room else glyph.words.split(",")[0])


def lost_words(step: StepFacts) -> str:
    """Why a part of the prompt was computed again; empty where nothing was lost."""
    if not step.prefix or not step.prefix.get("lost_tokens"):
        return ""
    return f"prefix lost: {str(step.prefix.get('cause')).replace('_', ' ')}"


def _lost_sign(step: StepFacts, room: int) -> str:
    """As much of why the prefix was lost as there is room for."""
    words = lost_words(step)
    forms = [f"  ↯ {words}", f"  ↯ {words.partition(': ')[2]}", " ↯"] if words else []
    return next((form for form in forms if len(form) <= room), "")


def _ttft(step: StepFacts) -> str:
    return DASH if step.ttft_ns is None else f"{number(step.ttft_ns / 1e6)} ms"


def _searchable(key: Key, steps: list[StepFacts | None]) -> str:
    words = [key[0], f"turn {key[2] + 1}"]
    for step in steps:
        if step is not None:
            words += [*step.faults, step.error or "", glyphs.of(step).words, lost_words(step)]
    return " ".join(words).lower()


def _legend(count: str, width: int) -> Content:
    """The number of turns, then as many signs as fit; help has them all."""
    spans: list[Span | str] = [(count, "bold"), "   "]
    used = cell_len(count) + 3
    for glyph in glyphs.ALL:
        used += cell_len(glyph.words) + 4
        if used <= width:
            spans += [(glyph.sign, glyph.style), f" {glyph.words}  "]
    return content(*spans)
