"""What the fold keeps of each turn: counts and times, no text. Some 1,100 bytes a turn (`sealed` packs those of a screen)."""

from __future__ import annotations

import marshal
from abc import abstractmethod
from array import array
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from itertools import chain
from sys import intern
from typing import Any

from replayer.journal.events import (
    Alarm,
    IsolationKind,
    SessionFinished,
    SessionStarted,
    SignalFinding,
    Substituted,
    ToolRunFinished,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
    is_stalled,
)
from replayer.journal.packing import bins, gaps_us
from replayer.journal.parts import Line
from replayer.lazy import dataclass
from replayer.signals.server_reported import draft_tokens, server_decode_speed
from replayer.signals.tool_reliability import FaultMark, marks
from replayer.wire.types import JsonObject, Wire

_PARTS = 1 << 16
_LONGEST = 1 << 30
_TOGETHER_US = 50
"""No engine decodes 20,000 tokens a second in one stream: deltas nearer to each other came in one chunk."""


CUT = "cut"  # the outcome of a session whose load was over before it was
UNREACHABLE = "unreachable"
"""The fault of a request that reached no engine, and the outcome of a session that ended with such requests."""


def is_complete(outcome: str | None) -> bool:
    return outcome not in (None, UNREACHABLE, CUT)


_READ = (
    "key", "prompt_tokens", "ideal_tokens", "reported_tokens", "source", "gap", "cause", "lost_tokens", "message_index",
    "path", "offset", "detail", "least", "most", "evidence", "above", "evicted_tokens",
)  # fmt: skip
"""Of a prefix finding: the rest is only shown of one turn, from its line in the journal."""
_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}
"""Those of `_READ` that findings have, once for all turns."""
_COUNTS: dict[int | None, int | None] = {}
_MOST = 1 << 12


def _shared(count: int | None) -> int | None:
    """One object for all turns with the same count, which else takes 32 bytes in each."""
    return (_COUNTS.setdefault if len(_COUNTS) < _MOST else _COUNTS.get)(count, count)


@dataclass(slots=True)
class TurnFacts:
    """One turn. Unknown is None. Few objects: what is read seldom is put into one, and taken apart by a property."""

    turn: int
    recorded_turn: int
    wall: float
    at: int = 0
    """When it was sent, on the clock of the journal."""
    place: int | None = None
    body_bytes: int = 0
    substituted: str | None = None
    ttft_ns: int | None = None
    held_back: bool = False
    """Tokens came before a delta showed one: the first after `began_ns`, if that is known (`wire.first_token`)."""
    began_ns: int | None = None
    total_ns: int | None = None
    decode_ns: int | None = None
    """From the first token to the end of the stream: the last tokens of a call are markup that delivers no delta.

    None where less passed than any engine needs for the tokens: the reply came at once, and says nothing of a speed."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    cached_by_tier: dict[str, int] | None = None
    usage_source: str = "none"
    finish_reason: str | None = None
    done: bool = False
    error: str | None = None
    retries: int = 0
    lag_ns: int = 0
    stalled: bool = False
    """This machine read so late, or was so busy, that the turn's times may not be the engine's: they are in no quantile
    and no speed."""
    stamped_by: str = "client"
    """Whose clock the times of arrival are: the kernel's, the client's, or some of both (mixed)."""
    stopped: bool = False
    calls: int = 0
    invalid_calls: int = 0
    usable: bool | None = None
    schema_valid: bool | None = None
    asked_input: int | None = None
    """Tokens that the prompt, and the answer, of a turn of lengths are to have."""
    asked_output: int | None = None
    max_tokens: int | None = None
    """The token limit that the request set."""
    marks: tuple[FaultMark, ...] = ()
    collapse: dict[str, Any] | None = None
    tool_outcomes: tuple[str, ...] = ()
    divergent: int = 0
    """Tool runs whose result differs from the recorded one."""
    loops: int = 0
    """Loops of tool calls that this turn's calls completed."""
    found: tuple[str, ...] = ()
    values: bytes = b""
    """What the prefix signal found, and its values packed: as a dictionary they would take 2 KB a turn."""
    ideal_tokens: int | None = None
    """Tokens that the turn could have reused, once the prefix signal has worked them out."""
    ideal_of: int = 0
    server_tok_s: float | None = None
    """Decode speed that the engine itself states for this reply."""
    drafted: int | None = None
    accepted: int | None = None
    wire: Wire = "chat"
    modes: dict[str, Any] | None = None
    """`usable` and fatal `faults` streamed and not, where both were asked for."""
    deltas: int = 0
    lengths: int = 0

    @property
    def line(self) -> Line | None:
        """Where its `turn_finished` line starts in the journal."""
        return None if self.place is None else Line(self.place % _PARTS, self.place // _PARTS)

    @property
    def chars(self) -> tuple[int, int, int]:
        """Characters of the reply by channel, in the order of CHANNELS."""
        rest, arguments = divmod(self.lengths, _LONGEST)
        return rest // _LONGEST, rest % _LONGEST, arguments

    @property
    def prefix(self) -> JsonObject | None:
        """What the prefix signal found."""
        return dict(zip(self.found, marshal.loads(self.values), strict=True)) if self.found else None

    @property
    def judged(self) -> bool:
        return self.ideal_tokens is not None

    @property
    def ideal(self) -> tuple[int, int] | None:
        """Tokens that the turn could have reused, and of how many."""
        return None if self.ideal_tokens is None else (self.ideal_tokens, self.ideal_of)

    @property
    def faults(self) -> tuple[str, ...]:
        """The classes of the turn's faults, warnings included, each once."""
        return tuple(dict.fromkeys(mark.klass for mark in self.marks))

    @property
    def fatal(self) -> tuple[str, ...]:
        """The classes that made the turn unusable."""
        return tuple(dict.fromkeys(mark.klass for mark in self.marks if mark.fatal))

    @property
    def answered(self) -> bool:
        """The exchange ended, and with an engine: a request that reached none says nothing of the lane's replies."""
        return self.total_ns is not None and self.error != UNREACHABLE

    @property
    def state(self) -> str:
        if self.total_ns is None:
            return "streaming"
        return "judged" if self.usable is not None else "finished"

    @property
    def prefill_ns(self) -> int | None:
        """Until the engine had its first token."""
        return self.began_ns if self.held_back else self.ttft_ns

    @property
    def decoded_tokens(self) -> float | None:
        """After the first delta, which is taken to hold as many as the others (speculation), or the first token."""
        tokens = self.completion_tokens or 0
        if tokens < 2 or not (self.held_back or self.deltas > 1):
            return None
        return tokens - (1 if self.held_back else max(1.0, tokens / self.deltas))

    @property
    def tpot_ns(self) -> float | None:
        """(Whole time - first token) / (tokens - 1). vLLM's `bench serve`, too, takes the first chunk as the token's."""
        tokens, first = self.completion_tokens, self.prefill_ns
        if first is None or self.total_ns is None or tokens is None or tokens < 2:
            return None
        each = (self.total_ns - first) / (tokens - 1)
        return each if each >= _TOGETHER_US * 1000 else None

    @property
    def decode_tok_s(self) -> float | None:
        tokens, passed = self.decoded_tokens, self.decode_ns
        return tokens / (passed / 1e9) if tokens and passed else None

    @property
    def prefilled_tokens(self) -> int | None:
        """Prompt tokens that were not in the cache; the whole prompt where the cache is not reported."""
        if self.prompt_tokens is None:
            return None
        return self.prompt_tokens - (self.cached_tokens or 0)


_NONE: Counter[int] = Counter()  # of sessions that have ended


class Kept(Mapping[int, TurnFacts]):
    """Turns of a session that has ended, and its gaps as `Attempt.packed` has them, held elsewhere."""

    __slots__ = ()

    @property
    @abstractmethod
    def gaps(self) -> bytes: ...


@dataclass(slots=True)
class Attempt:
    """One attempt at a session, with its turns by position."""

    session: str
    number: int
    lane: str
    trace: str
    repeat: int
    planned: int
    mode: str
    tools: str
    cache_reset: str
    isolation: IsolationKind | None
    tag: str | None
    started: int
    late_ns: int | None = None
    first_turn: int = 0
    ended: int | None = None
    outcome: str | None = None
    check: dict[str, Any] | None = None
    turns: Mapping[int, TurnFacts] = field(default_factory=dict)
    finished: int = 0
    """Turns whose reply has ended."""
    counted: Counter[int] = field(default_factory=Counter)
    packed: bytes = b""
    """Bins and how often each was met, once the session has ended: a dictionary takes twenty times as much."""
    together: int = 0
    """Deltas that came in one chunk with the one before: no time passed between them."""
    collapsed: tuple[int, ...] = ()
    """Turns with an alarm of repetition."""

    @property
    def complete(self) -> bool:
        """It came to its own end. One that ended because its engine was gone did not, and is run again by `resume`."""
        return is_complete(self.outcome)

    @property
    def gaps(self) -> dict[int, int]:
        """Times between arrivals, by bin; those of turns that were stalled are left out."""
        held = self.turns.gaps if isinstance(self.turns, Kept) else self.packed
        if not held:
            return self.counted
        found = array("H", held)
        packed = dict(zip(found[::2], found[1::2], strict=True))
        return self.counted + Counter(packed) if self.counted else packed

    def end(self, event: SessionFinished) -> None:
        self.ended, self.outcome, self.check = event.at, intern(event.outcome), event.check
        with suppress(OverflowError):  # a bin of more than 65,535
            self.packed = array("H", chain.from_iterable(self.gaps.items())).tobytes()
            self.counted = _NONE

    def opened(self) -> dict[int, TurnFacts]:
        """Its turns, to be written to: a fact may come after the session's end."""
        if isinstance(self.turns, Kept):
            self.packed = self.turns.gaps
        if not isinstance(self.turns, dict):
            self.turns = {number: replace(turn) for number, turn in self.turns.items()}
        return self.turns

    @classmethod
    def of(cls, event: SessionStarted) -> Attempt:
        return cls(
            session=event.session,
            number=event.attempt,
            lane=intern(event.lane),
            trace=intern(event.trace),
            repeat=event.repeat,
            planned=event.turns,
            mode=intern(event.mode),
            tools=intern(event.tools),
            cache_reset=intern(event.cache_reset),
            isolation=event.isolation,
            tag=event.tag,
            started=event.at,
            late_ns=event.late_ns,
            first_turn=event.first_turn,
        )


def start(attempt: Attempt, event: TurnStarted) -> None:
    attempt.opened()[event.turn] = TurnFacts(
        turn=event.turn,
        recorded_turn=event.recorded_turn,
        wall=event.wall,
        at=event.at,
        body_bytes=_shared(event.body_bytes) or 0,
        asked_input=event.asked["input"] if event.asked else None,
        asked_output=(event.asked["output"] or None) if event.asked else None,
        max_tokens=event.max_tokens,
    )


def finish(attempt: Attempt, event: TurnFinished, line: Line | None) -> None:
    turn = attempt.opened()[event.turn]
    usage = event.usage or {}
    attempt.finished += turn.total_ns is None
    turn.place = line and line.offset * _PARTS + line.part
    turn.ttft_ns, turn.total_ns = event.ttft_ns, event.total_ns
    turn.prompt_tokens = _shared(usage.get("prompt_tokens"))
    turn.cached_tokens = _shared(usage.get("cached_tokens"))
    turn.completion_tokens = _shared(usage.get("completion_tokens"))
    first = event.prefill_ns
    if event.call_first or first != event.ttft_ns:
        turn.held_back, turn.began_ns = True, first
    turn.cached_by_tier, turn.usage_source = usage.get("cached_by_tier"), event.usage_source
    turn.finish_reason, turn.done, turn.wire = event.finish_reason, event.done, event.wire
    turn.error, turn.retries = event.fault["kind"] if event.fault else None, event.retries
    turn.lag_ns, turn.stalled = event.lag_ns, is_stalled(event.lag_ns, event.busy)
    turn.stamped_by, turn.stopped = event.stamped_by, event.stopped_by_us is not None
    turn.deltas, turn.calls, turn.lengths = event.deltas, len(event.tool_calls), _lengths(event)
    if event.extra:
        turn.drafted, turn.accepted = draft_tokens(event.extra)
        turn.server_tok_s = server_decode_speed(event.extra, turn.completion_tokens)
    gaps = gaps_us(event.arrivals)[1:]
    passed = event.total_ns - first if first is not None and (gaps or turn.held_back) else 0
    if passed >= _TOGETHER_US * 1000 * ((turn.completion_tokens or 1) - 1):
        turn.decode_ns = passed or None
    if not turn.stalled:
        attempt.counted = Counter() if attempt.counted is _NONE else attempt.counted
        apart = [gap for gap in gaps if gap >= _TOGETHER_US]
        attempt.together += len(gaps) - len(apart)
        attempt.counted.update(bins(apart))


def _lengths(event: TurnFinished) -> int:
    arguments = sum([len(call.get("arguments") or "") for call in event.tool_calls])
    return (len(event.content) * _LONGEST + len(event.reasoning)) * _LONGEST + arguments


def judge(attempt: Attempt, event: VerdictGiven) -> None:
    turn = attempt.opened()[event.turn]
    if turn.error == UNREACHABLE:
        return
    turn.usable = event.usable
    turn.schema_valid, turn.modes = event.schema_valid, event.modes
    turn.marks = marks(event.faults)
    turn.invalid_calls = len(
        {fault["call_index"] for fault in event.faults if fault["fatal"] and fault["call_index"] is not None}
    )


def alarm(attempt: Attempt, event: Alarm) -> None:
    if event.finding.get("level") == "collapsed" and event.turn in attempt.turns:
        attempt.opened()[event.turn].collapse = event.finding
        attempt.collapsed += (event.turn,)


def substituted(attempt: Attempt, event: Substituted) -> None:
    attempt.opened()[event.turn].substituted = event.reason


def ran(attempt: Attempt, event: ToolRunFinished) -> None:
    turn = attempt.opened()[event.turn]
    turn.tool_outcomes += (event.outcome,)
    turn.divergent += event.against_recorded == "different"


def signal(attempt: Attempt, event: SignalFinding) -> None:
    if event.signal == "prefix_reuse":
        turn, found = attempt.opened()[event.turn], event.finding
        names = tuple([name for name in _READ if name in found])
        turn.found = _NAMES.setdefault(names, names)
        turn.values = marshal.dumps([found[name] for name in names])
        ideal, of = found.get("ideal_tokens"), found.get("prompt_tokens")
        if ideal is not None and of is not None:
            turn.ideal_tokens, turn.ideal_of = _shared(ideal), _shared(of) or 0
    elif event.signal == "call_loops" and event.finding.get("level") == "loop":
        attempt.opened()[event.turn].loops += 1
