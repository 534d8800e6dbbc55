"""All steps × lanes, one sign per outcome; Enter opens a step."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static

from replayer.figures import wasted_tokens
from replayer.steps import StepFacts
from replayer.tui import glyphs
from replayer.tui.keys import Keys
from replayer.tui.rows import number
from replayer.tui.source import Frame
from replayer.tui.text import DASH, Span, content, fit, safe
from replayer.view import LaneView

Key = tuple[str, int, int]
"""Trace, repeat, step."""

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
    TurnsScreen > DataTable { height: 1fr; scrollbar-size-vertical: 1; }
    TurnsScreen > #filter { display: none; height: 3; }
    TurnsScreen > #filter.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=True)
        self._filter = Input(placeholder="session, fault, word of an outcome, prefix …", id="filter")
        self._laid_out: tuple[object, ...] = ()
        self._turn_width, self._lane_width = _TURN_WIDTH[0], _LANE_WIDTH[0]
        self._shown: dict[Key, tuple[str, ...]] = {}
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
        names = [lane.name for lane in lanes]
        if (names, self.size.width, self.app.theme) != self._laid_out:
            self._columns(names)
        steps = [lane_steps(lane) for lane in lanes]
        rows: dict[Key, tuple[str, ...]] = {}
        words = self._filter.value.lower().split()
        keys = sorted({key for found in steps for key in found})
        for key in keys:
            found = [of_lane.get(key) for of_lane in steps]
            if all(word in _searchable(key, found) for word in words):
                rows[key] = tuple(_state(step) for step in found)
        self._paint(rows, steps, names)
        count = f"{len(rows)} of {len(keys)} turns" if words else f"{len(keys)} turns"
        count += " · following" if self._following else ""
        self.query_one("#legend", Static).update(_legend(count, self.size.width - 2))
        return True

    def _columns(self, names: list[str]) -> None:
        """Lay the columns out anew: other lanes, another width, or other colours."""
        self._laid_out = (names, self.size.width, self.app.theme)
        room = self.size.width - 2
        turn = max(_TURN_WIDTH[0], min(_TURN_WIDTH[1], room // (len(names) + 2)))
        share = (room - turn - 2) // max(1, len(names)) - 2
        self._lane_width = max(_LANE_WIDTH[0], min(_LANE_WIDTH[1], share))
        at = self._table.cursor_row
        self._table.clear(columns=True)
        self._shown = {}
        self._turn_width = turn
        self._table.add_column("turn", width=turn, key="turn")
        for name in names:
            title = Text(fit(name, self._lane_width - _TIME_WIDTH) + "TTFT".rjust(_TIME_WIDTH))
            self._table.add_column(title, width=self._lane_width, key=name)
        self.call_after_refresh(lambda: self._table.move_cursor(row=at))

    def _paint(
        self, rows: dict[Key, tuple[str, ...]], steps: list[dict[Key, StepFacts]], names: list[str]
    ) -> None:
        """Rows that left make the table anew; changed cells are painted one by one."""
        if list(self._shown) != list(rows)[: len(self._shown)]:
            self._table.clear()
            self._shown = {}
        for key, states in rows.items():
            old = self._shown.get(key)
            row = _row_key(key)
            if old is None:
                cells = [self._cell(of_lane.get(key)) for of_lane in steps]
                self._table.add_row(_label(key, self._turn_width), *cells, key=row)
                continue
            for name, of_lane, before, after in zip(names, steps, old, states, strict=True):
                if before != after:
                    self._table.update_cell(row, name, self._cell(of_lane.get(key)))
        self._shown = rows
        if self._following and rows:
            self._table.move_cursor(row=len(rows) - 1)

    def _cell(self, step: StepFacts | None) -> Text:
        """The outcome in a sign and words, then the time to the first token."""
        glyph = glyphs.of(step)
        text = Text()
        text.append(f"{glyph.sign} ", self._rich(glyph.style))
        if step is None or step.total_ns is None:
            return text.append(glyph.words, "dim")
        room = self._lane_width - _TIME_WIDTH - 2
        said = safe(_said(step, glyph, room))
        text.append(fit(said, min(room, cell_len(said))), "bold" if glyph in _FAULTY else "")
        rest = room - min(room, cell_len(said))
        text.append(fit(_lost_sign(step, rest), rest), self._rich("$warning"))
        return text.append(_ttft(step).rjust(_TIME_WIDTH), "dim")

    def _rich(self, style: str) -> str:
        """A style of the theme in colours that a table cell understands."""
        variables = self.app.theme_variables
        known = {name: variables[name] for name in ("success", "error", "warning", "accent")}
        words = [known.get(word[1:], "dim") if word.startswith("$") else word for word in style.split()]
        return " ".join(words)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        key = list(self._shown)[event.cursor_row]
        self.post_message(OpenStep(key))

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
        keys = list(self._shown)
        here = keys[self._table.cursor_row] if keys else None
        found = self.neighbour(here, by, faulty=True) if here is not None else None
        if found is None:
            self.notify("no step has a fault", markup=False)
        else:
            self._table.move_cursor(row=keys.index(found))

    def neighbour(self, key: Key, by: int, *, faulty: bool = False) -> Key | None:
        """The row `by` places from a step; with `faulty` the next one with a fault, from the end on to the start."""
        keys = list(self._shown)
        if key not in self._shown:
            return None
        here = keys.index(key)
        if not faulty:
            return keys[here + by] if 0 <= here + by < len(keys) else None
        around = [keys[(here + by * n) % len(keys)] for n in range(1, len(keys) + 1)]
        return next((one for one in around if any(s.startswith("bad") for s in self._shown[one])), None)


def lane_steps(lane: LaneView) -> dict[Key, StepFacts]:
    return {
        (attempt.trace, attempt.repeat, n): step
        for attempt in lane.attempts
        for n, step in attempt.steps.items()
    }


def _row_key(key: Key) -> str:
    return "/".join(map(str, key))


def _label(key: Key, width: int) -> Text:
    trace, repeat, step = key
    again = f"#{repeat + 1} " if repeat else ""
    return Text(fit(f"{step + 1:>4}  {again}{trace}", width))


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


def _state(step: StepFacts | None) -> str:
    """What a cell depends on; starts with `bad` where the step has a fault."""
    glyph = glyphs.of(step)
    if step is None:
        return f"ok {glyph.sign}"
    bad = "bad" if glyph in _FAULTY else "ok"
    return f"{bad} {glyph.sign} {step.faults} {step.ttft_ns} {step.prefix is not None}"


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
