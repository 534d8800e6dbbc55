"""What one lane did at a turn, as the journal has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from replayer.errors import RunFolderError
from replayer.journal.older import loads
from replayer.journal.parts import lines
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.journal.view import RunView


@dataclass(frozen=True, slots=True)
class Asked:
    """A request beside the one before it: the messages that are `new`, of how many, and how many of those before
    were `dropped` or rewritten."""

    new: list[JsonObject]
    total: int
    dropped: int


@dataclass(slots=True)
class LaneTurn:
    """What one lane did at a turn; the values are the journal's events as dictionaries.

    `asked` is the lane's own request where lanes are sent their own replies (live history), else None.
    """

    lane: str
    attempt: int
    asked: Asked | None = None
    reply: JsonObject | None = None
    verdict: JsonObject | None = None
    alarms: list[JsonObject] = field(default_factory=list)
    tool_runs: list[JsonObject] = field(default_factory=list)
    findings: list[JsonObject] = field(default_factory=list)

    def finding(self, signal: str) -> JsonObject | None:
        return next((f["finding"] for f in self.findings if f["signal"] == signal), None)


def lane_turn(folder: Path, view: RunView, lane: str, trace: str, repeat: int, turn: int) -> LaneTurn | None:
    """One lane's events of a turn, of the counted attempt; None where it never got there."""
    chosen = next((one.attempts.find((trace, repeat)) for one in view.lanes if one.name == lane), None)
    if chosen is None or turn not in chosen.turns:
        return None
    found = LaneTurn(lane=lane, attempt=chosen.number)
    before = 0
    for event in _events(folder, chosen.session, chosen.number, (turn - 1, turn)):
        if event["type"] == "turn_started":
            found.asked = _asked(event, before)
            before = found.asked.total if found.asked else 0
        elif event["turn"] == turn:
            take(found, event)
    return found


def _asked(started: JsonObject, before: int) -> Asked | None:
    """`before`: messages of the request before this one."""
    sent = started.get("sent") or {}
    if "messages" not in sent:
        return None
    return Asked(sent["messages"], sent["keep"] + len(sent["messages"]), max(0, before - sent["keep"]))


def _events(folder: Path, session: str, attempt: int, turns: tuple[int, ...]) -> Iterator[JsonObject]:
    """The lines of some turns, found by their bytes: most of a journal is other turns."""
    name = orjson.dumps(session)
    for line in lines(folder):
        if name not in line or not line.endswith(b"\n"):
            continue
        try:
            values = loads(line)
        except orjson.JSONDecodeError as error:
            raise RunFolderError(f"{folder}: a damaged line of {session} ({error})") from None
        if (values.get("session"), values.get("attempt")) == (session, attempt) and values.get(
            "turn"
        ) in turns:
            yield values


def take(found: LaneTurn, event: JsonObject) -> None:
    """File one event of the turn's journal lines."""
    match event["type"]:
        case "turn_finished":
            found.reply = event
        case "verdict":
            found.verdict = event
        case "alarm":
            found.alarms.append(event)
        case "tool_run":
            found.tool_runs.append(event)
        case "signal":
            found.findings.append(event)
        case _:
            pass
