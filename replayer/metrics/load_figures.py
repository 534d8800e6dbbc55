"""What a lane delivers under load: throughput, time per output token, goodput, errors, tail. Sources: docs/plans.md.

And the same figures over parts of its turns: by place in the session, by prompt length, by any other key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter

from replayer.journal.turns import TurnFacts
from replayer.metrics import turn_values as of
from replayer.metrics.catalogue import SHARES
from replayer.metrics.documents import Goodput, Load, Quantiles, Rate, Slice, Tail
from replayer.metrics.stats import quantile, wilson
from replayer.metrics.turn_values import Count

TAIL_RATIO = 5.0
"""A TTFT p99 over so many times the median is flagged. Our own choice: sound lanes of the background's harness stayed
under 5 (189 ms against 42), and its stalled ones began at 14 (1,859 against 131)."""
TAIL_REQUESTS = 20
"""Fewer requests say nothing of a tail: their p99 is the slowest one."""


def load(turns: Sequence[TurnFacts], concurrency: int, slo: dict[str, float | None] | None) -> Load:
    """Figures over all requests of a lane; what is not known is None.

    Rates are per second of `busy_s`, the time in which at least one request was in flight: rests, cache resets and
    token counting between requests are not the engine's doing. `in_flight` is how many requests there were at once in
    the mean: far below `concurrency`, this machine and not the engine was the limit, or the sessions ran out.
    """
    answered = answered_of(turns)
    busy = busy_seconds(turns)
    ttft = times(turns, of.ttft_ms)
    return Load(
        concurrency=concurrency,
        requests=len(turns),
        in_flight=sum(turn.total_ns or 0 for turn in turns) / 1e9 / busy if busy else None,
        busy_s=busy,
        requests_per_s=len(answered) / busy if busy else None,
        output_tok_s=output_speed(answered, busy),
        ttft_ms=ttft,
        tpot_ms=times(turns, of.tpot_ms),
        e2e_ms=times(turns, of.e2e_ms),
        error_rate=share(turn.error is not None for turn in turns),
        goodput=goodput(turns, slo, busy),
        tail=tail(ttft),
        exact_prompts=share(
            turn.prompt_tokens == turn.asked_input
            for turn in answered
            if _both(turn.asked_input, turn.prompt_tokens)
        ),
        exact_answers=share(
            turn.completion_tokens == turn.asked_output
            for turn in answered
            if _both(turn.asked_output, turn.completion_tokens)
        ),
        schema_valid=share(turn.schema_valid for turn in turns if turn.schema_valid is not None),
    )


def answered_of(turns: Sequence[TurnFacts]) -> list[TurnFacts]:
    return [turn for turn in turns if turn.error is None and turn.ttft_ns is not None]


def output_speed(answered: Sequence[TurnFacts], busy: float) -> float | None:
    """Tokens per second of `busy`; None where a reply's are not known."""
    tokens = [turn.completion_tokens for turn in answered]
    known = [count for count in tokens if count is not None]
    return sum(known) / busy if busy and known and len(known) == len(tokens) else None


def _both(asked: int | None, found: int | None) -> bool:
    return asked is not None and found is not None


def busy_seconds(turns: Iterable[TurnFacts]) -> float:
    """Length of the union of the requests' times, in seconds."""
    spans = sorted(
        (turn.wall, turn.wall + turn.total_ns / 1e9) for turn in turns if turn.total_ns is not None
    )
    busy, reached = 0.0, float("-inf")
    for start, end in spans:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def times(turns: Iterable[TurnFacts], time: Callable[[TurnFacts], float | None]) -> Quantiles:
    return quantiles([value for value in map(time, turns) if value is not None])


def quantiles(values: Iterable[float]) -> Quantiles:
    ordered = sorted(values)
    return Quantiles(**{name: quantile(ordered, at) for name, at in SHARES.items()}, n=len(ordered))


def rate(successes: int, n: int) -> Rate:
    """A share with its Wilson interval; value None when nothing was counted."""
    low, high = wilson(successes, n)
    return Rate(successes / n if n else None, low, high, n)


def share(outcomes: Iterable[bool | None]) -> Rate | None:
    """How many hold; None where there is none to hold."""
    seen = [bool(outcome) for outcome in outcomes]
    return rate(sum(seen), len(seen)) if seen else None


def goodput(turns: Sequence[TurnFacts], slo: dict[str, float | None] | None, busy: float) -> Goodput | None:
    """Requests per second that keep every limit; None without limits.

    A request that failed keeps none. One of a single token has no time per token, which then holds.
    """
    limits = {name: limit for name, limit in (slo or {}).items() if limit is not None}
    if not limits:
        return None
    kept = [keeps(turn, limits) for turn in turns]
    good = sum(keeps and bool(turn.usable) for keeps, turn in zip(kept, turns, strict=True))
    per_s = [count / busy if busy else None for count in (sum(kept), good)]
    return Goodput(limits, rate(sum(kept), len(kept)), per_s[0], rate(good, len(kept)), per_s[1])


def keeps(turn: TurnFacts, limits: dict[str, float]) -> bool:
    if turn.error is not None or turn.ttft_ns is None:
        return False
    found = {"ttft_ms": turn.ttft_ns, "tpot_ms": turn.tpot_ns, "e2e_ms": turn.total_ns}
    return all((value := found[name]) is None or value / 1e6 <= limit for name, limit in limits.items())


def tail(ttft: Quantiles) -> Tail:
    """TTFT p99 against p50, flagged where it is far above it; None where too few requests were made to tell."""
    if ttft.n < TAIL_REQUESTS or not ttft.p50 or ttft.p99 is None:
        return Tail(None, None)
    ratio = ttft.p99 / ttft.p50
    return Tail(ratio, ratio > TAIL_RATIO)


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
