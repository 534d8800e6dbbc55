"""The protocol of all signals: pure observers that know neither HTTP nor the journal.

One list of signals (`replayer.signals.every`) watches one attempt at a session. What a signal finds while a reply arrives may stop
the stream, if the runner so decides; what it finds after a turn is stated beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from replayer.lazy import dataclass
from replayer.wire.types import Delta, JsonObject, Reply

if TYPE_CHECKING:
    from replayer.signals.call_loops import Called
    from replayer.signals.prefix_reuse.finding import PrefixFinding


class Finding(Protocol):
    """Typed data; `as_dict` is what the journal keeps of it."""

    def as_dict(self) -> JsonObject: ...


class StreamFinding(Finding, Protocol):
    """Found before the reply was judged. Only the level `collapsed` may stop a stream."""

    @property
    def level(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a turn before its reply: evidence that only ever lowers an alarm or backs one up.

    `prompt_contains` says whether a text stands in the prompt; `recorded` is what the recorded turn said and called.
    """

    prompt_contains: Callable[[str], bool] | None = None
    recorded: str | None = None


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """A turn that is over: its calls as they went, and the recorded turn's where the history is the recording's."""

    number: int
    reply: Reply
    recorded: str | None = None
    calls: Sequence[Called] = ()
    recorded_calls: Sequence[Called] = ()
    reuse: PrefixFinding | None = None


class Signal:
    """Watches the turns of one session, one after another. Each hook is optional."""

    name: ClassVar[str]
    version: ClassVar[int]

    def begin(self, expected: Expected) -> None:
        """A request goes out."""

    def observe(self, delta: Delta) -> Sequence[StreamFinding]:
        """A piece of the reply has come."""
        return ()

    def end(self, reply: Reply) -> Sequence[StreamFinding]:
        """The reply is whole, and not yet judged."""
        return ()

    def after_turn(self, turn: TurnFacts) -> Sequence[Finding]:
        """The calls have been executed."""
        return ()

    def verdicts(self) -> dict[str, str]:
        """Sentences on the whole session."""
        return {}
