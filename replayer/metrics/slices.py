"""The same figures over parts of a lane's turns: by place in the session, by prompt length, by any other key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from replayer.journal.turns import TurnFacts
from replayer.metrics import turn_values as of
from replayer.metrics.documents import Slice
from replayer.metrics.load_figures import keeps, rate, share, times
from replayer.metrics.turn_values import Count

Limits = dict[str, float]
TURNS = ((1, "1"), (5, "2-5"), (20, "6-20"), (None, "21+"))
"""Places in a session, counted from 1: the last of each slice."""
PROMPTS = (
    (2_000, "up to 2k"),
    (8_000, "2k-8k"),
    (32_000, "8k-32k"),
    (128_000, "32k-128k"),
    (None, "over 128k"),
)
"""Prompt tokens by usage."""
Bounds = Sequence[tuple[int | None, str]]


def by_turn(turns: Iterable[TurnFacts], limits: Limits) -> list[Slice]:
    found = sliced(turns, TURNS, lambda turn: turn.turn + 1)
    return [figures(name, some, limits) for name, some in found.items()]


def by_prompt(turns: Iterable[TurnFacts], limits: Limits) -> list[Slice]:
    found = sliced(turns, PROMPTS, lambda turn: turn.prompt_tokens)
    return [figures(name, some, limits) for name, some in found.items()]


def sliced(
    turns: Iterable[TurnFacts], bounds: Bounds, value: Callable[[TurnFacts], int | None]
) -> dict[str, list[TurnFacts]]:
    """The turns whose value is known, by the slice that it falls in; none for an empty slice."""
    lasts, found = [last for last, _ in bounds if last is not None], [list[TurnFacts]() for _ in bounds]
    for turn in turns:
        if (at := value(turn)) is not None:
            found[bisect_left(lasts, at)].append(turn)
    return {name: some for (_, name), some in zip(bounds, found, strict=True) if some}


def figures(name: str, turns: Sequence[TurnFacts], limits: Limits) -> Slice:
    """Of these turns, by the catalogue's definitions."""
    finished = [turn for turn in turns if turn.total_ns is not None]
    judged = [turn for turn in finished if turn.judged]
    usable = [bool(turn.usable) for turn in finished if turn.usable is not None]
    return Slice(
        of=name,
        turns=len(finished),
        usable_turn_rate=rate(sum(usable), len(usable)),
        error_rate=rate(sum(turn.error is not None for turn in finished), len(finished)),
        within_limits=share(keeps(turn, limits) for turn in finished) if limits else None,
        ttft_ms=times(finished, of.ttft_ms),
        tpot_ms=times(finished, of.tpot_ms),
        decode_tok_s=_ratio(map(of.decoded, finished)),
        prefix_reuse=_ratio(map(of.cached, judged or finished)),
        prefix_ideal=_ratio(turn.ideal for turn in judged),
    )


def _ratio(counts: Iterable[Count | None]) -> float | None:
    known = [count for count in counts if count is not None]
    bottom = sum(map(itemgetter(1), known))
    return sum(map(itemgetter(0), known)) / bottom if bottom else None
