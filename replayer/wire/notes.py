"""Breaches of the protocol, collected while a reply is put together."""

from __future__ import annotations

from replayer.wire.types import NoteCode, ProtocolNote

_LONGEST = 2000
"""Characters of a message: it may quote what the server sent."""


class Notes:
    """The first note of each code and call: a breach in every delta is one finding."""

    def __init__(self) -> None:
        self._notes: dict[tuple[NoteCode, int | None], ProtocolNote] = {}

    def __len__(self) -> int:
        return len(self._notes)

    def add(self, code: NoteCode, message: str, call_index: int | None = None) -> None:
        self._notes.setdefault((code, call_index), ProtocolNote(code, message[:_LONGEST], call_index))

    def has(self, code: NoteCode, call_index: int | None) -> bool:
        return (code, call_index) in self._notes

    def all(self) -> tuple[ProtocolNote, ...]:
        return tuple(self._notes.values())
