"""What a turn's request holds beyond the one before it, message by message."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.journal.lane_turn import Asked
from replayer.journal.turn_detail import TurnDetail
from replayer.tui.calls import call_text, tinted
from replayer.tui.text import Span
from replayer.wire.types import JsonObject

_MESSAGE_CHARS = 4_000


def asked_of(detail: TurnDetail, lane: str | None) -> tuple[Asked, bool]:
    """The lane's own request where it was sent its own history, else the recorded one; and whether it is its own."""
    found = detail.lanes.get(lane) if lane is not None else None
    if found is not None and found.asked is not None:
        return found.asked, True
    return Asked(detail.new_messages, len(detail.messages), detail.dropped), False


def change_words(asked: Asked, *, first: bool) -> str:
    """What makes this request another one than that of the turn before."""
    if first:
        return f"the first: {asked.total} messages"
    words = f"{len(asked.new)} new of {asked.total} messages since the turn before"
    return f"{words}, {asked.dropped} rewritten or dropped" if asked.dropped else words


def request_text(asked: Asked, note: str) -> list[Span]:
    """The new messages; `note` says what the request shown is not."""
    spans: list[Span] = [(f"{note}\n", "$warning")] if note else []
    for message in asked.new:
        text = _message_text(message)
        gap = "\n" if "\n" in text else "  "
        spans += [(f"{message.get('role', '?')}{gap}", "bold $primary"), *tinted([(f"{text}\n", "")])]
    return spans


def _message_text(message: JsonObject) -> str:
    body = message.get("content")
    parts = [body if isinstance(body, str) else "" if body is None else _parts_text(body)]
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        parts.append(call_text(function.get("name"), function.get("arguments")))
    text = "\n".join(part.strip("\n") for part in parts if part)
    if len(text) <= _MESSAGE_CHARS:
        return text
    half = _MESSAGE_CHARS // 2
    return f"{text[:half]}\n… {len(text) - _MESSAGE_CHARS:,} characters left out …\n{text[-half:]}"


def _parts_text(parts: Sequence[object]) -> str:
    """Text parts as text, other parts by their type."""
    blocks = (part if isinstance(part, dict) else {} for part in parts)
    return "\n".join(str(part.get("text") or f"({part.get('type', 'part')})") for part in blocks)
