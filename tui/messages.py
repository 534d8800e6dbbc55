"""What the parts of the screen tell the application."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.message import Message

Key = tuple[str, int, int]
"""Trace, repeat, turn."""


@dataclass
class OpenTurn(Message):
    """The user wants to see a turn."""

    key: Key


@dataclass
class NextTurn(Message):
    """The user wants the turn `by` places on; with `faulty` the next one with a fault."""

    by: int
    faulty: bool = field(default=False, kw_only=True)


@dataclass
class PinStream(Message):
    """Keep a lane's column to one session; None follows the newest."""

    lane: str
    session: str | None


@dataclass
class Save(Message):
    """Something is to be saved in the current folder."""

    name: str
    words: str
