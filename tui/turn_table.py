"""A table of turns × lanes of which only the rows in view are ever made: a run may have a hundred thousand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import ClassVar, overload

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from replayer.tui.messages import Key
from replayer.tui.text import Span

Cells = Sequence[Sequence[Span]]
"""One row: per column the pieces of text, as wide as the column in all."""


HEAD = -1
"""Instead of a turn's number: the line that stands for a session."""


class Turns(Sequence[Key]):
    """Every turn of every session in order, by place, without holding any of them; with `heads`, sessions are groups."""

    def __init__(
        self,
        sessions: dict[tuple[str, int], int],
        folded: Container[tuple[str, int]] = (),
        *,
        heads: bool = False,
    ) -> None:
        """`sessions`: trace and repeat -> number of turns. Of a session in `folded` only the head is a row."""
        self._sessions = sorted(sessions)
        self._counts = [sessions[one] for one in self._sessions]
        self._heads = int(heads)
        rows = (0 if one in folded else sessions[one] for one in self._sessions)
        self._starts = [0, *accumulate(self._heads + count for count in rows)]

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> Key: ...
    @overload
    def __getitem__(self, index: slice) -> list[Key]: ...
    def __getitem__(self, index: int | slice) -> Key | list[Key]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        session = bisect_right(self._starts, index) - 1
        return *self._sessions[session], index - self._starts[session] - self._heads

    @property
    def names(self) -> Sequence[tuple[str, int]]:
        """Trace and repeat of each session."""
        return self._sessions

    def sessions(self) -> Iterator[tuple[tuple[str, int], int]]:
        """Trace and repeat, and the number of turns."""
        return zip(self._sessions, self._counts, strict=True)

    def place(self, key: Key) -> int | None:
        """Where a turn stands, or the head of its session where that is folded."""
        at = bisect_right(self._sessions, key[:2]) - 1
        if at < 0 or self._sessions[at] != key[:2] or key[2] >= self._counts[at]:
            return None
        index = self._starts[at] + self._heads + key[2]
        return index if index < self._starts[at + 1] else self._starts[at]


def place_of(keys: Sequence[Key], key: Key) -> int | None:
    """Where a turn stands among sorted ones."""
    if isinstance(keys, Turns):
        return keys.place(key)
    at = bisect_left(keys, key)
    return at if at < len(keys) and keys[at] == key else None


class TurnTable(ScrollView, can_focus=True):
    """A header line, then a row per key; a cursor on one of them, which Enter or a click on it opens."""

    @dataclass
    class Opened(Message):
        """The row under the cursor was chosen."""

        key: Key

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Open", show=False),
        Binding("up", "move(-1)", "Row above", show=False),
        Binding("down", "move(1)", "Row below", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,ctrl+home", "end(-1)", "First row", show=False),
        Binding("end,ctrl+end", "end(1)", "Last row", show=False),
    ]
    COMPONENT_CLASSES: ClassVar = {"turn-table--header", "turn-table--even", "turn-table--cursor"}
    DEFAULT_CSS = """
    TurnTable { background: $surface; color: $foreground; overflow: auto auto; }
    TurnTable > .turn-table--header { background: $panel; color: $foreground; text-style: bold; }
    TurnTable > .turn-table--even { background: $surface-lighten-1 50%; }
    TurnTable:dark > .turn-table--even { background: $surface-darken-1 40%; }
    TurnTable > .turn-table--cursor { background: $panel-lighten-1; color: $foreground; text-style: bold; }
    """

    def __init__(self, row: Callable[[Key], Cells]) -> None:
        """`row` gives the cells of a row when it comes into view."""
        super().__init__()
        self._row = row
        self._header: tuple[str, ...] = ()
        self._painted: dict[int, Cells] = {}
        self.keys: Sequence[Key] = ()
        self.cursor = 0

    @property
    def row_count(self) -> int:
        return len(self.keys)

    def lay_out(self, header: tuple[str, ...]) -> None:
        """The titles, each as wide as its column."""
        self._header = header
        self.refresh()

    def fill(self, keys: Sequence[Key], cursor: int) -> None:
        """Show these rows; only lines that look otherwise than before are painted."""
        self.keys = keys
        self.virtual_size = Size(sum(map(cell_len, self._header)) + 2 * len(self._header), len(keys) + 1)
        self.move_cursor(cursor)
        top = round(self.scroll_y)
        self._painted = {row: was for row, was in self._painted.items() if top <= row < top + self._page()}
        for row, was in self._painted.items():
            if self._cells(row) != was:
                self._refresh_row(row)

    def move_cursor(self, row: int) -> None:
        before, self.cursor = self.cursor, max(0, min(len(self.keys) - 1, row))
        if before != self.cursor:
            self._refresh_row(before)
            self._refresh_row(self.cursor)
        self._follow_cursor()

    def _follow_cursor(self) -> None:
        top, page = round(self.scroll_y), self._page()
        if not top <= self.cursor < top + page:
            self.scroll_to(y=self.cursor if self.cursor < top else self.cursor - page + 1, animate=False)

    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def _refresh_row(self, row: int) -> None:
        """One line, below the header, which does not scroll."""
        y = row - round(self.scroll_y) + 1
        if y > 0:
            self.refresh(Region(0, y, self.size.width, 1))

    def _cells(self, row: int) -> Cells:
        return self._row(self.keys[row]) if row < len(self.keys) else ()

    def render_line(self, y: int) -> Strip:
        if y == 0:
            titles = [[(title, "")] for title in self._header]
            return self._strip(titles, "turn-table--header")
        row = round(self.scroll_y) + y - 1
        self._painted[row] = cells = self._cells(row)
        if row >= len(self.keys):
            return Strip.blank(self.size.width, self.rich_style)
        even = "turn-table--even" if row % 2 else ""
        return self._strip(cells, "turn-table--cursor" if row == self.cursor else even)

    def _strip(self, cells: Cells, look: str) -> Strip:
        """A cell beside every cell on both sides."""
        base = self.get_component_rich_style(look) if look else self.rich_style
        segments = [
            Segment(text, base + _style(style))
            for cell in cells
            for text, style in ((" ", ""), *cell, (" ", ""))
        ]
        left = round(self.scroll_x)
        return Strip(segments).crop_extend(left, left + self.size.width, base)

    def action_open(self) -> None:
        if self.keys:
            self.post_message(self.Opened(self.keys[self.cursor]))

    def action_move(self, by: int) -> None:
        self.move_cursor(self.cursor + by)

    def action_page(self, by: int) -> None:
        self.move_cursor(self.cursor + by * self._page())

    def action_end(self, side: int) -> None:
        self.move_cursor(len(self.keys) if side > 0 else 0)

    def on_click(self, event: Click) -> None:
        """On the row under the cursor: open it; on another: go there."""
        row = round(self.scroll_y) + event.y - 1
        if event.y > 0 and row < len(self.keys):
            if row == self.cursor:
                self.action_open()
            self.move_cursor(row)


@cache
def _style(words: str) -> Style:
    return Style.parse(words)
