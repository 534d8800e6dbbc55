"""The verdict tree: which of a turn's losses weighs most, and what caused it."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from replayer.signals.prefix_reuse.causes import Cause
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse, Witness

_STRAY = 8
"""Generated tokens that may happen to begin a recorded reply as well, where they were not learnt."""

_GRANULAR_SHARE = 0.25
_GRANULAR_TOKENS = 32


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


class Diagnosis:
    """Judges the turns of one lane in order; what an engine reported before tells a full pool from a cache that is off."""

    def __init__(self, block_size: int | None) -> None:
        self._block = block_size
        self._hits = 0
        self._unit = 0

    def finding(self, turn: TurnReuse, report: Report | None) -> PrefixFinding:
        """The heaviest loss names the cause. Without a report there is no engine to blame."""
        asked, report = report is not None, report or Report()
        losses = [self._client(turn), self._granularity(turn), _eviction(turn), self._engine(turn, report)]
        worst = max((loss for loss in losses if loss), key=lambda loss: loss.tokens, default=None)
        worst = worst or (_unreported(turn, report) if asked else None)
        self._remember(report)
        return _finding(turn, report, worst)

    def _remember(self, report: Report) -> None:
        if report.cached:
            self._hits += 1
            self._unit = gcd(self._unit, report.cached)

    @staticmethod
    def _client(turn: TurnReuse) -> Loss | None:
        if turn.divergence is None or not turn.lost:
            return None
        return Loss(turn.divergence.cause, turn.lost, turn.divergence.detail)

    def _granularity(self, turn: TurnReuse) -> Loss | None:
        """Blocks that fill badly: at least a quarter of what could be shared."""
        most = turn.ideal_by_block_size[1]
        own = turn.ideal + turn.evicted
        lost = most - own
        if not _is_much(lost, most):
            return None
        detail = f"{most} tokens are shared, {own} of them in whole blocks of {self._block}"
        return Loss("block_granularity", lost, detail)

    def _engine(self, turn: TurnReuse, report: Report) -> Loss | None:
        cached = report.cached
        if cached is None or not turn.ideal:
            return None
        gap = turn.ideal - cached
        if gap <= self._tolerance(turn, cached):
            return None
        if cached and gap == self._block:
            return _one_block_less(gap, turn)
        cause, detail = self._none_cached(turn, report) if not cached else self._some_cached(turn, gap)
        return Loss(cause, gap, detail)

    def _tolerance(self, turn: TurnReuse, cached: int) -> int:
        """Blocks of unknown size round down; tokens that are not the engine's own are a few percent off."""
        blocks = self._unit - 1 if cached and not self._block else 0
        guess = 0 if turn.token_source == "engine" else turn.prompt_tokens // 20
        return max(blocks, guess, 0 if self._block else 1)

    def _none_cached(self, turn: TurnReuse, report: Report) -> tuple[Cause, str]:
        if report.metrics:
            return "counter_broken", f"usage says 0, the metrics counted {report.metrics}"
        if report.witness == "cached":
            return "counter_broken", "0 reported, but the first token came as fast as from a warm cache"
        if self._hits:
            return "eviction", "the cache worked before; these blocks are gone"
        return "cache_off", "" if self._block else f"or its blocks are longer than {turn.ideal} tokens"

    @staticmethod
    def _some_cached(turn: TurnReuse, gap: int) -> tuple[Cause, str]:
        if gap <= turn.shared_generated:
            return "retokenisation", "the prompt was reused, what was generated after it was not"
        return "eviction", "only a part of the shared prefix was still there"


def _one_block_less(gap: int, turn: TurnReuse) -> Loss | None:
    """What EAGLE and MTP drafters take in vLLM, also where nobody told of them."""
    detail = "one block less than the shared prefix fills, as with speculation"
    return Loss("block_granularity", gap, detail) if _is_much(gap, turn.ideal) else None


def _is_much(lost: int, whole: int) -> bool:
    return lost >= max(_GRANULAR_TOKENS, _GRANULAR_SHARE * whole)


def _eviction(turn: TurnReuse) -> Loss | None:
    return Loss("eviction", turn.evicted, "the pool holds too few tokens") if turn.evicted else None


def _unreported(turn: TurnReuse, report: Report) -> Loss | None:
    if report.cached is not None or not turn.ideal or not report.ended:
        return None
    told = {
        "cached": "the first token came as fast as from a warm cache",
        "recomputed": "the first token came as slowly as from a cold cache",
    }
    return Loss("not_reported", 0, told.get(report.witness or "", ""))


def _disagreements(turn: TurnReuse, report: Report) -> tuple[str, ...]:
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
    if (cached or 0) > turn.ideal + turn.evicted + _STRAY and turn.token_source == "engine":
        found.append(
            f"{report.source} says {cached} cached tokens, this lane had sent at most {turn.ideal + turn.evicted}"
        )
    return tuple(found)


def _finding(turn: TurnReuse, report: Report, worst: Loss | None) -> PrefixFinding:
    place = turn.divergence if worst and turn.divergence and worst.cause == turn.divergence.cause else None
    return PrefixFinding(
        key=turn.key,
        prompt_tokens=turn.prompt_tokens,
        ideal_tokens=turn.ideal,
        ideal_by_block_size=turn.ideal_by_block_size,
        shared=turn.shared,
        expected=turn.expected,
        reported_tokens=report.cached,
        source=report.source,
        gap=None if report.cached is None else turn.ideal - report.cached,
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
        disagreements=_disagreements(turn, report),
        token_source=turn.token_source,
        evicted_tokens=turn.evicted if turn.bounded else None,
    )
