"""One trace on one lane, once, with all its threads: what an attempt works with.

`replayer.run.threads` sends recorded history, or the engine's own replies.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from replayer.lazy import dataclass
from replayer.plan.model import Plan
from replayer.plan.schedule import Session
from replayer.run.turn import TurnKey

if TYPE_CHECKING:
    from replayer.requests.history import RecordedHistory
    from replayer.run.exchange import Exchange
    from replayer.run.judging import TurnJudge
    from replayer.run.prompts import Prompts


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread of an attempt: what sends its turns and what judges the replies, with signals of its own."""

    exchange: Exchange
    judge: TurnJudge


@dataclass(slots=True)
class Bounds:
    """What a load asks of one session: where it starts, and that it ends when the load does."""

    first: int = 0
    """Position in the main thread of the first turn that is sent."""
    late_ns: int | None = None
    ready: Callable[[Bounds], Awaitable[None]] | None = None
    """Waits, once the cache is filled, until the session may begin."""
    over: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    """The load is over: no further turn is sent."""


@dataclass(slots=True)
class SessionContext:
    """One attempt at a session: what its requests are made of, and a conversation for each thread that is begun."""

    plan: Plan
    session: Session
    attempt: int
    prompts: Prompts
    begin: Callable[[], Conversation]
    bounds: Bounds = dataclasses.field(default_factory=Bounds)
    conversations: dict[str, Conversation] = dataclasses.field(default_factory=dict)

    @property
    def history(self) -> RecordedHistory:
        return self.prompts.history

    @property
    def turns(self) -> Sequence[int]:
        """The recorded turns, in the order in which they were recorded, as far as the plan wants them."""
        return self.history.turns[: self.plan.max_turns]

    @property
    def sent(self) -> frozenset[int]:
        """Those that are sent: from the first one of this session on, with the subagents that start after it."""
        root, *others = self.history.lines
        found = set(root.turns[self.bounds.first :])
        for line in others:
            if line.after in found:
                found.update(line.turns)
        return frozenset(found.intersection(self.turns))

    @property
    def lost(self) -> bool:
        """The server went away in the middle and did not come back."""
        return any(conversation.exchange.lost for conversation in self.conversations.values())

    def conversation(self, thread: str) -> Conversation:
        if thread not in self.conversations:
            self.conversations[thread] = self.begin()
        return self.conversations[thread]

    def key(self, turn: int, thread: str | None = None) -> TurnKey:
        line = "" if thread in (None, self.history.thread) else str(thread)
        return TurnKey(self.session.lane, self.session.id, self.attempt, turn, line)

    def ended(self) -> None:
        for thread, conversation in self.conversations.items():
            conversation.judge.signals.ended(self.key(0, thread))

    def verdicts(self) -> dict[str, str]:
        """Sentences on the whole session by signal; what a subagent adds follows."""
        found: dict[str, str] = {}
        for conversation in self.conversations.values():
            for signal, words in conversation.judge.signals.verdicts().items():
                known = found.get(signal, "")
                found[signal] = f"{known} {words}".strip() if words not in known else known
        return found


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """So many seconds, or until the event."""
    if seconds > 0 and not event.is_set():
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
