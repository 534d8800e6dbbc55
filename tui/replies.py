"""A reply as a column shows it: blocks of text and cards of calls, whether it streams or the journal has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from replayer.journal.lane_turn import LaneTurn
from replayer.tui.live_text import STREAM_KEPT, Stream
from replayer.wire.types import JsonObject

CallState = Literal["streaming", "unjudged", "valid", "faulty"]


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """One tool call. `faults` are (class, message) of the fatal ones; warnings do not make a call faulty."""

    index: int
    name: str
    arguments: str
    state: CallState = "streaming"
    faults: tuple[tuple[str, str], ...] = ()
    ran: JsonObject | None = None
    """What came of executing the call, as the journal has it."""


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Text of one channel: content or reasoning."""

    channel: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """One reply. `trouble` are faults that belong to no call, as (class, message)."""

    session: str
    turn: int
    blocks: tuple[Words | Card, ...]
    streaming: bool
    trouble: tuple[tuple[str, str], ...] = ()


def of_stream(stream: Stream) -> Shown:
    """What has come so far; a call is one card wherever its pieces stand."""
    blocks: list[Words | Card] = []
    places: dict[int, int] = {}
    for piece in stream.pieces:
        if piece.channel in ("content", "reasoning"):
            blocks.append(Words(piece.channel, piece.text))
            continue
        if piece.call not in places:
            places[piece.call] = len(blocks)
            blocks.append(Card(piece.call, "", ""))
        card = blocks[places[piece.call]]
        assert isinstance(card, Card)
        if piece.channel == "tool_name":
            card = replace(card, name=card.name + piece.text)
        else:
            card = replace(card, arguments=card.arguments + piece.text)
        blocks[places[piece.call]] = card
    return Shown(stream.session, stream.turn, tuple(blocks), streaming=True)


def of_journal(session: str, turn: int, read: LaneTurn) -> Shown:
    """A finished reply with its verdict and the runs of its calls."""
    reply = read.reply or {}
    blocks: list[Words | Card] = [
        Words(channel, reply[channel][-STREAM_KEPT:])
        for channel in ("reasoning", "content")
        if reply.get(channel)
    ]
    runs = {run["call_index"]: run for run in read.tool_runs}
    faults = [fault for fault in (read.verdict or {}).get("faults", ()) if fault["fatal"]]
    for place, call in enumerate(reply.get("tool_calls", ())):
        index = call.get("index", place)
        mine = _pairs(fault for fault in faults if fault.get("call_index") == index)
        state: CallState = "unjudged" if read.verdict is None else "faulty" if mine else "valid"
        name, arguments = call.get("name") or "", call.get("arguments") or ""
        blocks.append(Card(index, str(name), str(arguments), state, mine, runs.get(index)))
    known = {block.index for block in blocks if isinstance(block, Card)}
    trouble = _pairs(fault for fault in faults if fault.get("call_index") not in known)
    return Shown(session, turn, tuple(blocks), streaming=False, trouble=trouble)


def _pairs(faults: Iterable[JsonObject]) -> tuple[tuple[str, str], ...]:
    return tuple((str(fault["klass"]), str(fault["message"])) for fault in faults)
