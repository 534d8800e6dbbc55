"""The verdict tree: which of a turn's losses weighs most, what caused it, and on what evidence."""

from __future__ import annotations

from dataclasses import field
from math import gcd
from typing import Literal

from replayer.lazy import dataclass
from replayer.signals.prefix_reuse.causes import Cause
from replayer.signals.prefix_reuse.finding import Expected, PrefixFinding, TurnReuse, Witness

NO_HIT = "no hit was reported, and neither a counter nor the clock says whether anything was cached"
"""The detail of turns that a cache which is off would give as well as a count that is not kept."""
SAID_ON = "no hit was reported, although the server says that its prefix cache is on"
ELSEWHERE = (
    "nothing was ever reused: the prefix cache is off, its blocks are longer than {} tokens, or each request met another "
    "cache (a router, a salt) or another beginning (a template)"
)
"""The detail where a server says nothing of itself."""

_STRAY = 8
"""Generated tokens that may happen to begin a recorded reply as well, where they were not learnt."""

_GRANULAR_SHARE = 0.25
_GRANULAR_TOKENS = 32

_OFF_TURNS, _OFF_TOKENS, _OFF_UNKNOWN = 3, 500, 2000
"""Turns that missed all that was surely cached, and their tokens, before a cache is called off without a witness; more
tokens where the block size is not known."""
_LARGE_BLOCK = 528
"""Where the block size is not known, a cache of large blocks misses shorter prefixes, too."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the engine and the clock said of one turn."""

    usage: int | None = None
    metrics: int | None = None
    witness: Witness | None = None
    prompt: int | None = None
    """Prompt tokens as the engine counted them."""
    ended: bool = True
    """Whether the reply came to its end: usage comes last."""

    @property
    def cached(self) -> int | None:
        return self.usage if self.usage is not None else self.metrics

    @property
    def source(self) -> Literal["usage", "metrics"] | None:
        if self.usage is not None:
            return "usage"
        return "metrics" if self.metrics is not None else None


@dataclass(frozen=True, slots=True)
class Loss:
    cause: Cause
    tokens: int
    detail: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(slots=True)
class _Server:
    """What is known of the server so far."""

    hits: int = 0
    unit: int = 0
    """Greatest common divisor of the hits: what its blocks are a multiple of."""
    missed_turns: int = 0
    missed_tokens: int = 0
    largest_missed: int = 0
    preempted: float = 0.0
    """Preemptions and retractions since the run began."""
    cached: float | None = None
    """Cached tokens that the server's own counter counted since."""
    marks_moved: int = 0
    """Turns whose `cache_control` marks had moved and that could have reused something."""
    marks_harmless: int = 0
    """Those of them that reused all the same."""
    reported: int = 0
    """Cached tokens that replies reported."""


@dataclass(slots=True)
class Diagnosis:
    """Judges the turns of one server in order. A cause needs a loss above the error, evidence, and no contradiction."""

    block: int | None
    slots: int | None = None
    caching: bool | None = None
    """What the server says of its prefix cache; None where it says nothing."""
    _server: _Server = field(default_factory=_Server)

    def counted(self, preempted: float | None, cached: float | None) -> None:
        self._server.preempted = max(self._server.preempted, preempted or 0.0)
        self._server.cached = cached if cached is not None else self._server.cached

    def finding(self, turn: TurnReuse, expected: Expected | None, report: Report | None) -> PrefixFinding:
        """The heaviest loss names the cause. Without a report there is no engine to blame."""
        asked, report = report is not None, report or Report()
        assert expected is not None
        losses = [self._client(turn, expected, report), self._granularity(turn, expected, report)]
        losses += [self._model_evicted(turn, expected, report), self._engine(turn, expected, report)]
        losses += [_too_many(expected, report)]
        worst = max((loss for loss in losses if loss), key=lambda loss: loss.tokens, default=None)
        worst = worst or (_unreported(turn, report) if asked else None)
        self._remember(turn, expected, report)
        return self._stated(turn, expected, report, worst)

    def _remember(self, turn: TurnReuse, expected: Expected, report: Report) -> None:
        server, cached = self._server, report.cached
        if turn.mark_left and cached is not None and expected.least:
            server.marks_moved += 1
            missed = expected.least - cached > max(self._tolerance(cached), expected.error)
            server.marks_harmless += not missed
        if cached:
            server.hits += 1
            server.unit = gcd(server.unit, cached)
            server.reported += cached
        elif cached == 0 and expected.least and turn.near:
            server.missed_turns += 1
            server.missed_tokens += expected.least
            server.largest_missed = max(server.largest_missed, expected.least)

    @staticmethod
    def _client(turn: TurnReuse, expected: Expected, report: Report) -> Loss | None:
        """Nothing is lost to a change where the engine reused what it would have without it."""
        place, cached = turn.divergence, report.cached
        if place is None or not expected.lost:
            return None
        lost, above = expected.lost, (cached or 0) - expected.shared - expected.error - _STRAY
        if above > 0 and turn.token_source == "engine":
            return None
        if above > 0:  # the order of system prompt and tools is the engine's
            lost = expected.shared + expected.lost - (cached or 0)
        if lost <= expected.error + _STRAY:
            return None
        where = place.path or "the tokens"
        evidence = f"the request differs from the one it continues at {where}, character {place.offset + 1}"
        return Loss(place.cause, lost, place.detail, (evidence,))

    def _granularity(self, turn: TurnReuse, expected: Expected, report: Report) -> Loss | None:
        """Blocks that fill badly: at least a quarter of what could be shared."""
        most = max(0, min(expected.shared, expected.prompt - 1))
        lost = most - expected.unbounded
        if not _is_much(lost, most) or lost <= expected.error:
            return None
        if report.cached is not None and report.cached > expected.unbounded + expected.error:
            return None
        detail = (
            f"{most} tokens are shared, {expected.unbounded} of them in whole blocks of {self.block or 1}"
        )
        return Loss("block_granularity", lost, detail, (detail,))

    def _model_evicted(self, turn: TurnReuse, expected: Expected, report: Report) -> Loss | None:
        """The shared pool's model says so, and the engine did recompute it."""
        cached = report.cached
        lost = expected.unbounded - max(expected.ideal, cached or 0)
        if not turn.evicted or lost <= max(0, expected.error):
            return None
        if cached is None and (report.usage is not None or report.witness == "cached"):
            return None
        evidence = ["what was sent since does not fit into the pool"]
        if self._server.preempted:
            evidence.append(f"{self._server.preempted:.0f} preemptions were counted")
        return Loss("eviction", lost, "the pool holds too few tokens", tuple(evidence))

    def _engine(self, turn: TurnReuse, expected: Expected, report: Report) -> Loss | None:
        cached = report.cached
        if cached is None:
            return _said_off(expected.least) if self.caching is False and expected.least else None
        gap = expected.least - cached
        if gap <= max(self._tolerance(cached), expected.error):
            return self._slot_loss(turn, expected, cached)
        if cached and gap == self.block:
            return _one_block_less(gap, expected)
        return self._none_cached(turn, expected, report, gap) or self._some_cached(turn, expected, gap)

    def _slot_loss(self, turn: TurnReuse, expected: Expected, cached: int) -> Loss | None:
        """A server that caches by slot keeps as many prompts as it has slots."""
        lost = expected.ideal - cached
        if not self.slots or turn.others is None or turn.others < self.slots:
            return None
        if lost <= max(expected.error, _STRAY):
            return None
        slots = f"{self.slots} slot{'s' * (self.slots > 1)}"
        fact = f"the server has {slots}; {turn.others} other sessions used them since this one's last turn"
        return Loss("eviction", lost, fact, (fact,))

    def _tolerance(self, cached: int) -> int:
        """Blocks of unknown size round down."""
        return max(self._server.unit - 1 if cached and not self.block else 0, 0 if self.block else 1)

    def _none_cached(self, turn: TurnReuse, expected: Expected, report: Report, gap: int) -> Loss | None:
        server = self._server
        if report.cached:
            return None
        if report.metrics:
            fact = f"usage says 0, the metrics counted {report.metrics}"
            return Loss("counter_broken", gap, fact, (fact,))
        if (
            self.caching is False
        ):  # a small model's first token is as fast from a cold cache: no witness against it
            return _said_off(gap)
        if report.witness == "cached":
            fact = "0 reported, but the first token came as fast as from a warm cache"
            return Loss("counter_broken", gap, fact, (fact,))
        if not server.reported and (server.cached or 0) > max(_OFF_UNKNOWN, expected.least // 2):
            fact = f"replies report 0 cached tokens, the server's counter says {server.cached:,.0f}"
            return Loss("counter_broken", gap, fact, (fact,))
        if server.hits or server.preempted:
            return None
        return self._off(turn, expected, report, gap)

    def _off(self, turn: TurnReuse, expected: Expected, report: Report, gap: int) -> Loss | None:
        """Never a hit with much that was surely cached, and no faster for it. Without the clock, the counters of the whole
        run decide (`conclude`)."""
        server = self._server
        turns, tokens = server.missed_turns + 1, server.missed_tokens + expected.least
        largest = max(server.largest_missed, expected.least)
        if not turn.near or (self.block is None and largest < _LARGE_BLOCK):
            return None
        slow = report.witness == "recomputed"
        if not slow and (turns < _OFF_TURNS or tokens < (_OFF_TOKENS if self.block else _OFF_UNKNOWN)):
            return None
        evidence = [f"no hit in {turns} turns that could have reused {tokens:,} tokens"]
        if self.caching or not slow:
            return Loss("unknown", gap, SAID_ON if self.caching else NO_HIT, tuple(evidence))
        evidence.append("the first token came as slowly as from a cold cache")
        if self.block is None and self.caching is None:  # a router or a salt looks the same from outside
            return Loss("unknown", gap, ELSEWHERE.format(largest), tuple(evidence))
        return Loss("cache_off", gap, "", tuple(evidence))

    def _some_cached(self, turn: TurnReuse, expected: Expected, gap: int) -> Loss:
        server = self._server
        pressed = turn.pool_evicts or server.preempted
        if turn.token_source == "engine" and server.hits and not pressed and gap <= turn.shared_generated:
            fact = "the prompt was reused, what was generated after it was not"
            return Loss("retokenisation", gap, fact, (fact,))
        if server.preempted:
            fact = f"the server counted {server.preempted:.0f} preemptions or retractions"
            return Loss("eviction", gap, "the pool holds too few tokens", (fact,))
        if not turn.near and turn.pool_evicts:
            fact = (
                f"{turn.recency:,} tokens took room in the pool of {turn.recency_limit:,} since the last use"
            )
            return Loss("eviction", gap, "the pool holds too few tokens", (fact,))
        return self._by_marks(turn, gap)

    def _by_marks(self, turn: TurnReuse, gap: int) -> Loss:
        """The last cause that is left. Marks move in every request of Claude Code, so that one turn which reused its
        prefix all the same speaks against it."""
        server, left = self._server, "recomputed although nothing known explains it"
        if turn.mark_left is None:
            return Loss("unknown", gap, left)
        fact = f"no text changed, only cache_control left {turn.mark_left}"
        if server.marks_moved and not server.marks_harmless:
            times = f"each of {server.marks_moved + 1} turns whose marks had moved was computed again"
            return Loss("cache_marks_moved", gap, fact, (fact, times))
        again = f"{server.marks_harmless} of {server.marks_moved + 1} such turns were reused"
        return Loss("unknown", gap, f"{left}; {fact} ({again}): compare with claude-code:cache=off")

    def _stated(
        self, turn: TurnReuse, expected: Expected, report: Report, worst: Loss | None
    ) -> PrefixFinding:
        place = (
            turn.divergence if worst and turn.divergence and worst.cause == turn.divergence.cause else None
        )
        cached = report.cached
        above = 0 if cached is None else cached - expected.most - _STRAY
        ideal = expected.ideal
        if (
            place and cached and turn.token_source != "engine"
        ):  # what stands before the change, the engine knows
            ideal = min(max(ideal, cached), expected.most)
        return PrefixFinding(
            key=turn.key,
            prompt_tokens=expected.prompt,
            ideal_tokens=ideal,
            ideal_by_block_size=turn.ideal_by_block_size,
            shared=expected.shared,
            expected=expected.shared + expected.lost,
            reported_tokens=cached,
            source=report.source,
            gap=None if cached is None else ideal - cached,
            cause=worst.cause if worst else None,
            lost_tokens=worst.tokens if worst else 0,
            message_index=place.message_index if place else None,
            path=place.path if place else None,
            offset=place.offset if place else None,
            excerpt_before=place.before if place else "",
            excerpt_after=place.after if place else "",
            detail=worst.detail if worst else "",
            previous=turn.previous,
            witness=report.witness,
            disagreements=_disagreements(turn, expected, report),
            token_source=turn.token_source,
            evicted_tokens=max(0, expected.unbounded - expected.ideal) if turn.bounded else None,
            least=expected.least,
            most=expected.most,
            evidence=worst.evidence if worst else (),
            above=above if above > expected.error else 0,
        )


def _too_many(expected: Expected, report: Report) -> Loss | None:
    over = (report.cached or 0) - expected.prompt
    fact = f"{report.cached} cached tokens were reported of {expected.prompt} prompt tokens"
    return Loss("counter_broken", over, fact, (fact,)) if over > expected.error else None


def _said_off(tokens: int) -> Loss:
    return Loss("cache_off", tokens, "", ("the server says that prefix caching is off",))


def _one_block_less(gap: int, expected: Expected) -> Loss | None:
    """What EAGLE and MTP drafters take in vLLM, even when speculation was not reported."""
    detail = "one block less than the shared prefix fills, as with speculation"
    return Loss("block_granularity", gap, detail, (detail,)) if _is_much(gap, expected.ideal) else None


def _is_much(lost: int, whole: int) -> bool:
    return lost >= max(_GRANULAR_TOKENS, _GRANULAR_SHARE * whole)


def _unreported(turn: TurnReuse, report: Report) -> Loss | None:
    if report.cached is not None or not turn.ideal or not report.ended:
        return None
    words = {
        "cached": "the first token came as fast as from a warm cache",
        "recomputed": "the first token came as slowly as from a cold cache",
    }
    return Loss("not_reported", 0, words.get(report.witness or "", ""))


def _disagreements(turn: TurnReuse, expected: Expected, report: Report) -> tuple[str, ...]:
    found = []
    if report.prompt is not None and turn.token_source == "engine" and report.prompt != turn.prompt_tokens:
        found.append(f"the engine counted {report.prompt} prompt tokens, {turn.prompt_tokens} were rendered")
    if report.usage is not None and report.metrics is not None and report.usage != report.metrics:
        found.append(f"usage says {report.usage} cached tokens, the metrics counted {report.metrics}")
    cached = report.cached
    if cached is not None and report.witness and (report.witness == "cached") != (2 * cached > turn.ideal):
        found.append(
            f"{report.source} says {cached} cached tokens, the time to first token says {report.witness}"
        )
    if (cached or 0) > expected.most + expected.error + _STRAY:
        found.append(
            f"{report.source} says {cached} cached tokens, this lane had sent at most {expected.most}"
        )
    return tuple(found)
