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


class NextTurn(Message):
    """The user wants the turn `by` places on; with `faulty` the next one with a fault."""

    def __init__(self, by: int, *, faulty: bool = False) -> None:
        super().__init__()
        self.by = by
        self.faulty = faulty


class PinStream(Message):
    """Keep a lane's column to one session; None follows the newest."""

    def __init__(self, lane: str, session: str | None) -> None:
        super().__init__()
        self.lane = lane
        self.session = session


class Save(Message):
    """Something is to be saved in the current folder."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__()
        self.name = name
        self.words = words
