"""The pages of the screen: a module each, and a line here, which gives a page its number key and its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from replayer.lazy import LazyTable
from replayer.tui.messages import Key

if TYPE_CHECKING:
    from replayer.tui.source import Frame


class Page(Screen[None]):
    """One view of the runs in `folders`. Only the page in front is painted."""

    folders: Sequence[Path] = ()

    def show(self, frame: Frame) -> bool:
        """Paint a frame; whether the whole page was painted."""
        raise NotImplementedError

    def neighbour(self, key: Key, by: int, frame: Frame, *, faulty: bool = False) -> Key | None:
        """The turn `by` places from another, for a page that lists turns."""
        return None


class Sheet(Screen[None]):
    """One turn over the page from which it was opened."""

    at: Key


PAGES: LazyTable[type[Page]] = LazyTable(
    "replayer.tui",
    {
        "lanes": "main_screen:MainScreen",
        "turns": "turns_screen:TurnsScreen",
        "telemetry": "telemetry_screen:TelemetryScreen",
        "log": "log_screen:LogScreen",
        "summary": "summary_screen:SummaryScreen",
    },
)

AT_END = "summary"
"""The page that is shown first when a run has ended, or has many lanes."""
MANY = 4
"""Lanes; more of them get an overview, since their columns do not fit beside each other."""

SHEETS: LazyTable[Callable[[Sequence[Path], Frame, Key], Sheet]] = LazyTable(
    "replayer.tui", {"turn": "turn_screen:opened"}
)

REPORTS: LazyTable[Callable[[Sequence[Path]], str | bytes]] = LazyTable(
    "replayer.tui", {"html": "export:html_words", "json": "export:json_words"}
)
"""The report of the runs on the screen, exactly as `replayer report` writes it."""
