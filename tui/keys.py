"""The line of keys at the bottom."""

from __future__ import annotations

from textual.events import Resize
from textual.widgets import Footer

_ROOM = 110
"""Cells from which on the command palette's key has room beside the screen's own."""


class Keys(Footer):
    """On a narrow terminal the palette's key is left out (help names it), so that the others are whole."""

    def on_resize(self, event: Resize) -> None:
        room = event.size.width >= _ROOM
        if room != self.show_command_palette:
            self.show_command_palette = room
            self.refresh(recompose=True)
