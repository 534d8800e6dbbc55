"""What the parts of the screen tell the application."""

from __future__ import annotations

from textual.message import Message

Key = tuple[str, int, int]
"""Trace, repeat, turn."""


class OpenTurn(Message):
    """The user wants to see a turn."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        self.key = key
