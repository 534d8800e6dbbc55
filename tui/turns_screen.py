"""All steps × lanes, one sign per outcome; Enter opens a step."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Input, Static

from replayer.display import safe
from replayer.steps import StepFacts
from replayer.tui import glyphs
from replayer.tui.keys import Keys
from replayer.tui.rows import number
from replayer.tui.source import Frame
from replayer.tui.text import content

Key = tuple[str, int, int]
"""Trace, repeat, step."""

_WIDTH = 30


class OpenStep(Message):
    """The user wants to see a step."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        self.key = key


class TurnsScreen(Screen[None]):
    """A table of steps by lanes. `/` filters, `n` goes to the next fault."""

    BINDINGS: ClassVar = [
        Binding("slash", "filter", "Filter"),
        Binding("n", "next_fault", "Next fault"),
        Binding("escape", "clear", "Clear filter", show=False),
    ]

    DEFAULT_CSS = """
    TurnsScreen > #legend { height: 1; padding: 0 1; background: $panel; }
    TurnsScreen > DataTable { height: 1fr; }
    TurnsScreen > #filter { display: none; height: 3; }
    TurnsScreen > #filter.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=True)
        self._filter = Input(placeholder="trace, fault, word of an outcome …", id="filter")
        self._lanes: list[str] = []
        self._shown: dict[Key, tuple[str, ...]] = {}
        self._frame: Frame | None = None

    def compose(self) -> ComposeResult:
        yield Static(_legend(), id="legend")
        yield self._table
        yield self._filter
        yield Keys()

    def on_mount(self) -> None:
        self._table.focus()

    def show(self, frame: Frame) -> None:
        self._frame = frame
        lanes = [lane for view in frame.views for lane in view.lanes]
        names = [lane.name for lane in lanes]
        if names != self._lanes:
            self._columns(names)
        steps = {
            lane.name: {
                (attempt.trace, attempt.repeat, n): step
                for attempt in lane.attempts
                for n, step in attempt.steps.items()
            }
            for lane in lanes
        }
        rows: dict[Key, tuple[str, ...]] = {}
        words = self._filter.value.lower().split()
        for key in sorted({key for found in steps.values() for key in found}):
            found = [steps[name].get(key) for name in names]
            if all(word in _searchable(key, found) for word in words):
                rows[key] = tuple(_state(step) for step in found)
        self._paint(rows, steps, names)

    def _columns(self, names: list[str]) -> None:
        self._lanes = names
        self._table.clear(columns=True)
        self._shown = {}
        self._table.add_column("turn", width=_WIDTH, key="turn")
        for name in names:
            self._table.add_column(Text(safe(name)), width=_WIDTH, key=name)

    def _paint(
        self, rows: dict[Key, tuple[str, ...]], steps: dict[str, dict[Key, StepFacts]], names: list[str]
    ) -> None:
        """Rows that left make the table anew; changed cells are painted one by one."""
        if self._shown.keys() - rows.keys():
            self._table.clear()
            self._shown = {}
        for key, states in rows.items():
            old = self._shown.get(key)
            row = _row_key(key)
            if old is None:
                cells = [_cell(steps[name].get(key)) for name in names]
                self._table.add_row(_label(key), *cells, key=row)
            else:
                for name, before, after in zip(names, old, states, strict=True):
                    if before != after:
                        self._table.update_cell(row, name, _cell(steps[name].get(key)))
        self._shown = rows

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

    def action_next_fault(self) -> None:
        keys = list(self._shown)
        here = self._table.cursor_row
        after = [*range(here + 1, len(keys)), *range(here + 1)]
        for position in after:
            if any(state.startswith("bad") for state in self._shown[keys[position]]):
                self._table.move_cursor(row=position)
                return
        self.notify("no step has a fault", markup=False)


def _row_key(key: Key) -> str:
    return "/".join(map(str, key))


def _label(key: Key) -> Text:
    trace, repeat, step = key
    again = f" #{repeat + 1}" if repeat else ""
    return Text(safe(f"{trace}{again} · {step + 1}"))


def _cell(step: StepFacts | None) -> Text:
    glyph = glyphs.of(step)
    text = Text(f"{glyph.sign} ")
    if step is None or step.total_ns is None:
        return text.append(glyph.words, "dim")
    said = step.error or ", ".join(step.faults) or glyph.words
    text.append(safe(said), "" if glyph is glyphs.USABLE else "bold")
    ttft = number(step.ttft_ns / 1e6) if step.ttft_ns is not None else "–"
    return text.append(f"  {ttft} ms", "dim")


def _state(step: StepFacts | None) -> str:
    """What a cell depends on; starts with `bad` where the step has a fault."""
    glyph = glyphs.of(step)
    bad = "bad" if glyph in (glyphs.UNUSABLE, glyphs.COLLAPSED, glyphs.FAILED, glyphs.CUT) else "ok"
    return f"{bad} {glyph.sign} {step.faults if step else ''} {step.ttft_ns if step else ''}"


def _searchable(key: Key, steps: list[StepFacts | None]) -> str:
    words = [key[0], str(key[2] + 1)]
    for step in steps:
        if step is not None:
            words += [*step.faults, step.error or "", glyphs.of(step).words]
    return " ".join(words).lower()


def _legend() -> Content:
    spans = [item for glyph in glyphs.ALL for item in ((glyph.sign, glyph.style), f" {glyph.words}   ")]
    return content(*spans)
