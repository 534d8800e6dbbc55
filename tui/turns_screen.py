"""All turns × lanes, one sign per outcome; Enter opens a turn."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from replayer.tui import glyphs, turn_cells
from replayer.tui.keys import Keys
from replayer.tui.messages import Key, OpenTurn
from replayer.tui.outcomes import Codes, LaneTurns, Search, Session, by_session
from replayer.tui.pages import Page
from replayer.tui.source import Frame
from replayer.tui.text import Span, content, fit
from replayer.tui.turn_cells import lost_words
from replayer.tui.turn_table import HEAD, Cells, Turns, TurnTable, place_of

_TURN_WIDTH, _LANE_WIDTH = (18, 32), (24, 90)
"""Least and most cells of the two kinds of columns."""
_NUMBER_WIDTH = 4
"""Cells of the first column where all turns are of one session."""
_NAMED = 100
"""Cells from which on the line above the table has room for the session's name."""
_FOLDED = 400
"""Turns of several sessions from which on these are folded when the page is opened: a line each is an overview."""


class TurnsScreen(Page):
    """A table of turns by lanes, grouped by session. `/` filters, `n` goes to the next fault, `f` follows the newest turn,
    `z` folds all sessions, Enter one."""

    BINDINGS: ClassVar = [
        Binding("slash", "filter", "Filter"),
        Binding("n", "next_fault(1)", "Next fault"),
        Binding("N", "next_fault(-1)", "Fault before", show=False),
        Binding("z", "fold", "Fold"),
        Binding("f", "follow", "Follow the newest", show=False),
        Binding("escape", "clear", "Clear filter", show=False),
    ]

    DEFAULT_CSS = """
    TurnsScreen > #legend { height: 1; padding: 0 1; background: $panel; }
    TurnsScreen > TurnTable { height: 1fr; scrollbar-size-vertical: 1; }
    TurnsScreen > #filter { display: none; height: 3; }
    TurnsScreen > #filter.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = TurnTable(self._row)
        self._filter = Input(placeholder="session, fault, word of an outcome, prefix …", id="filter")
        self._turn_width, self._lane_width = _TURN_WIDTH[0], _LANE_WIDTH[0]
        self._lanes: list[LaneTurns] = []
        self._every = Turns({})
        """Every turn, without heads."""
        self._all_folded: bool | None = None
        self._otherwise: set[Session] = set()
        """Sessions that are not as all are."""
        self._grouping: Turns | None = None
        """The rows, until a frame is new or a session is folded."""
        self._legend = Static(id="legend", markup=False)
        self._frame: Frame | None = None
        self._following = False

    def compose(self) -> ComposeResult:
        yield self._legend
        yield self._table
        yield self._filter
        yield Keys()

    def on_mount(self) -> None:
        self._table.focus()

    def show(self, frame: Frame) -> bool:
        here = self._here()
        if frame is not self._frame:
            self._frame, self._grouping = frame, None
            self._index(frame)
        order = self._every
        sessions = order.names
        self._lay_out([lane.name for view in frame.views for lane in view.lanes], several=len(sessions) > 1)
        filtered = bool(self._filter.value.strip())
        keys = self._matching(frame) if filtered else self._grouped(order, sessions)
        self._table.fill(keys, self._cursor(keys, here))
        count = f"{len(keys)} of {len(order)} turns" if filtered else f"{len(order)} turns"
        count += f" in {len(sessions)} sessions" if len(sessions) > 1 and not filtered else ""
        count += f" of {_session(sessions[0])}" if len(sessions) == 1 and self.size.width >= _NAMED else ""
        count += " · following" if self._following else ""
        self._legend.update(_legend(count, self.size.width - 2))
        return True

    def _lay_out(self, names: list[str], *, several: bool) -> None:
        """Columns share the width; `several`: the first one names the session."""
        room = self.size.width - 2
        widest = max(_TURN_WIDTH[0], min(_TURN_WIDTH[1], room // (len(names) + 2)))
        self._turn_width = widest if several else _NUMBER_WIDTH
        share = (room - self._turn_width - 2) // max(1, len(names)) - 2
        self._lane_width = max(_LANE_WIDTH[0], min(_LANE_WIDTH[1], share))
        titles = (turn_cells.title(name, self._lane_width) for name in names)
        self._table.lay_out((fit("turn", self._turn_width), *titles))

    def _grouped(self, order: Turns, sessions: Sequence[Session]) -> Turns:
        """Several sessions have a head each."""
        if len(sessions) < 2:
            return order
        if self._all_folded is None:
            self._all_folded = len(order) > _FOLDED
        if self._grouping is None:
            folded = set(sessions) - self._otherwise if self._all_folded else self._otherwise
            self._grouping = Turns(dict(order.sessions()), folded, heads=True)
        return self._grouping

    def _is_folded(self, session: Session) -> bool:
        return bool(self._all_folded) != (session in self._otherwise)

    def _index(self, frame: Frame) -> None:
        """Of each lane its sessions, and of each session how many turns any lane has."""
        self._lanes = [by_session(lane) for view in frame.views for lane in view.lanes]
        sessions: dict[Session, int] = {}
        for lane in self._lanes:
            for session, attempt in lane.items():
                last = max(attempt.turns, default=-1)
                sessions[session] = max(last + 1, sessions.get(session, 0))
        self._every = Turns(sessions)

    def _matching(self, frame: Frame) -> list[Key]:
        """Rows with all words of the filter."""
        search = Search(frame.outcomes, self._filter.value.lower().split())
        return [
            (*session, turn)
            for session in self._every.names
            for turn in search.turns(session[0], self._codes(frame, session))
        ]

    def _codes(self, frame: Frame, session: Session) -> Codes:
        return frame.outcomes.codes(session, [lane.get(session) for lane in self._lanes])

    def _here(self) -> Key | None:
        """The turn under the cursor."""
        return self._table.keys[self._table.cursor] if self._table.keys else None

    def _cursor(self, keys: Sequence[Key], here: Key | None) -> int:
        """Where the cursor goes: to the end where it follows, else it stays on its turn; at first on the first one."""
        if self._following:
            return len(keys) - 1
        if here is None and len(keys) > 1 and keys[0][2] == HEAD and keys[1][2] == 0:
            return 1
        place = place_of(keys, here) if here is not None else None
        return self._table.cursor if place is None else place

    def _row(self, key: Key) -> Cells:
        if key[2] == HEAD:
            return self._head(key[:2])
        filtered = not isinstance(self._table.keys, Turns)
        cells: list[list[Span]] = [[(_label(key, self._turn_width, named=filtered), "")]]
        for lane in self._lanes:
            attempt = lane.get(key[:2])
            lost = "" if attempt is None else lost_words(attempt.turns, key[2], alone=filtered)
            turn = None if attempt is None else attempt.turns.get(key[2])
            cells.append(turn_cells.cell(turn, lost, self._lane_width, self._rich))
        return cells

    def _head(self, session: Session) -> Cells:
        """The line of a session: how often each sign occurs in it."""
        label = f"{'▸' if self._is_folded(session) else '▾'} {_session(session)}"
        lanes = (turn_cells.group(lane.get(session), self._lane_width, self._rich) for lane in self._lanes)
        return [[(fit(label, self._turn_width), "bold")], *lanes]

    def _rich(self, style: str) -> str:
        """A style of the theme in colours that a table cell understands."""
        variables = self.app.theme_variables
        words = [variables[word[1:]] if word.startswith("$") else word for word in style.split()]
        return " ".join(words)

    def on_turn_table_opened(self, event: TurnTable.Opened) -> None:
        if event.key[2] != HEAD:
            self.post_message(OpenTurn(event.key))
            return
        self._toggle(event.key[:2])

    def _toggle(self, session: Session) -> None:
        self._otherwise ^= {session}
        self._grouping = None
        self._again()

    def _again(self) -> None:
        if self._frame is not None:
            self.show(self._frame)

    def on_input_changed(self) -> None:
        self._again()

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
        self._again()

    def action_fold(self) -> None:
        """All sessions, or none."""
        self._all_folded, self._otherwise, self._grouping = not self._all_folded, set(), None
        self._again()

    def action_next_fault(self, by: int) -> None:
        here, frame = self._here(), self._frame
        found = self.neighbour(here, by, frame, faulty=True) if here is not None and frame else None
        if found is not None and isinstance(self._table.keys, Turns) and self._is_folded(found[:2]):
            self._toggle(found[:2])
        place = place_of(self._table.keys, found) if found is not None else None
        if place is None:
            self.notify("no turn has a fault", markup=False)
        else:
            self._table.move_cursor(place)

    def neighbour(self, key: Key, by: int, frame: Frame, *, faulty: bool = False) -> Key | None:
        """The row `by` places from a turn; with `faulty` the next one with a fault, from the end on to the start.

        Of the rows that the table shows; of all, where it does not show that turn.
        """
        keys: Sequence[Key] = self._every if isinstance(self._table.keys, Turns) else self._table.keys
        first = (*key[:2], max(0, key[2]))
        here = place_of(keys, first)
        if here is None:
            self._index(frame)
            keys = self._every
            here = keys.place(first)
        if here is None:
            return None
        if not faulty:
            return keys[here + by] if 0 <= here + by < len(keys) else None
        return self._next_faulty(key, by, frame, keys)

    def _next_faulty(self, key: Key, by: int, frame: Frame, keys: Sequence[Key]) -> Key | None:
        faulty = [(*one, turn) for one in self._every.names for turn in self._codes(frame, one).faulty]
        if not isinstance(keys, Turns):
            faulty = sorted(set(faulty).intersection(keys))
        place = bisect_right(faulty, key) if by > 0 else bisect_left(faulty, key) - 1
        return faulty[place % len(faulty)] if faulty else None


def _label(key: Key, width: int, *, named: bool) -> str:
    """The turn's number, and its session where there are several and no head above it names it."""
    number = f"{key[2] + 1:>4}"
    return number if width <= _NUMBER_WIDTH else fit(f"{number}  {_session(key[:2]) if named else ''}", width)


def _session(session: Session) -> str:
    trace, repeat = session
    return f"#{repeat + 1} {trace}" if repeat else trace


def _legend(count: str, width: int) -> Content:
    """The number of turns, then as many signs as fit, in full words where all do; help has them all."""
    words = [glyph.words for glyph in glyphs.ALL]
    if cell_len(count) + 3 + sum(cell_len(word) + 4 for word in words) > width:
        words = [glyph.short for glyph in glyphs.ALL]
    spans: list[Span | str] = [(count, "bold"), "   "]
    used = cell_len(count) + 3
    for glyph, word in zip(glyphs.ALL, words, strict=True):
        used += cell_len(word) + 4
        if used <= width:
            spans += [(glyph.sign, glyph.style), f" {word}  "]
    return content(*spans)
