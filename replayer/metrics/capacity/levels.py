"""What one level of live sessions showed: whether it holds, how surely, and whether its figures may be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.capacity.limits import Limit, is_good, within
from replayer.metrics.capacity.search import Outcome
from replayer.metrics.capacity.sequential import interval
from replayer.metrics.capacity.stamp import idle, why_not
from replayer.metrics.documents import Rate
from replayer.metrics.figures import lane_figures
from replayer.metrics.load_figures import PROMPTS, TURNS, rate, sliced
from replayer.metrics.stats import quantile
from replayer.metrics.steady import window_turns
from replayer.metrics.telemetry_figures import gpu_figures
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class Shares:
    """Of a level's turns: `good` are within every limit and usable, `within` are within every limit."""

    good: Rate
    within: Rate
    usable: Rate
    limits: dict[str, Rate]
    """By limit, in its own words."""


@dataclass(frozen=True, slots=True)
class Part:
    """Turns of one place in the session, or of one prompt length."""

    of: str
    turns: int
    good: float | None
    within: float | None


@dataclass(frozen=True, slots=True)
class Level:
    sessions: int
    folder: str
    outcome: Outcome
    turns: int
    shares: Shares
    window_s: float
    alive: float | None
    """In the mean of the steady window; `alive_over_time`: (second, sessions alive from then on)."""
    alive_over_time: list[tuple[float, int]]
    idle: float
    """Share of the sessions' time that this machine took between a reply and the next request."""
    ttft_ms: dict[str, float | None]
    decode_tok_s: dict[str, float | None]
    output_tok_s: float | None
    reuse: float | None
    expected: float | None
    """The best possible reuse, the pool's size allowed for."""
    evicted: float | None
    preempted: float | None
    kv_peak: float | None
    acceptance: float | None
    power_w: float | None
    joules_per_usable_turn: float | None
    gpus: int | None
    goodput_per_s: float | None
    """Turns within the limits; `usable_goodput_per_s` those that are usable too."""
    usable_goodput_per_s: float | None
    tokens: dict[str, float | None]
    tiers: dict[str, Rate]
    """Turns that are usable and keep a tier's limit beside the others."""
    by_turn: list[Part]
    by_prompt: list[Part]
    valid: bool
    reasons: list[str] = field(default_factory=list)


def shares_of(turns: Sequence[TurnFacts], limits: tuple[Limit, ...], threshold: float) -> Shares:
    """Turns in the order of sending, so that their dependence is seen."""
    return Shares(
        good=interval(_known(is_good(turn, limits) for turn in turns), threshold),
        within=interval(_known(within(turn, limits) for turn in turns), threshold),
        usable=interval(_known(turn.usable for turn in turns), threshold),
        limits={
            limit.words: interval(_known(limit.keeps(turn) for turn in turns), limit.share)
            for limit in limits
        },
    )


def _known(outcomes: Iterable[bool | None]) -> list[bool]:
    return [outcome for outcome in outcomes if outcome is not None]


def decided(shares: Shares, limits: tuple[Limit, ...], threshold: float) -> Outcome | None:
    """None while an interval still holds the threshold of its share."""
    pairs = [(shares.good, threshold), *((shares.limits[limit.words], limit.share) for limit in limits)]
    if any(found.high < wanted for found, wanted in pairs):
        return "fails"
    return "holds" if all(found.low > wanted for found, wanted in pairs) else None


def side(found: Rate, threshold: float) -> Outcome:
    """Of one share alone."""
    if found.low > threshold:
        return "holds"
    lean: Outcome = "leans_holds" if (found.value or 0.0) >= threshold else "leans_fails"
    return "fails" if found.high < threshold else lean


def leaning(shares: Shares, limits: tuple[Limit, ...], threshold: float) -> Outcome:
    """By the shares alone."""
    pairs = [(shares.good, threshold), *((shares.limits[limit.words], limit.share) for limit in limits)]
    return "leans_holds" if all((found.value or 0.0) >= wanted for found, wanted in pairs) else "leans_fails"


def level(
    view: RunView, sessions: int, limits: tuple[Limit, ...], threshold: float, outcome: Outcome | None, folder: str,
    *, emptied: bool, tiers: tuple[Limit, ...] = (), beyond: bool = False,
) -> Level:  # fmt: skip
    """Of the run of one lane. `outcome` is what the run itself decided while it went on; None: it came to its end first.
    `emptied`: caches were to be empty at its begin; `beyond`: a level of fewer sessions held."""
    [lane] = view.lanes
    figures, turns = lane_figures(lane), window_turns(lane)
    shares = shares_of(turns, limits, threshold)
    steady = figures.steady
    outcome = outcome or decided(shares, limits, threshold) or leaning(shares, limits, threshold)
    shed = beyond and outcome.endswith("fails")
    reasons = why_not(
        view, figures, turns, (*limits, *tiers), emptied=emptied, fails=outcome == "fails", shed=shed
    )
    good = shares.good.value
    gpu = gpu_figures([reading.sample for reading in lane.telemetry], None)
    power = _power(gpu, lane)
    seconds = steady.window_s if steady else 0.0
    usable_turns = round((shares.usable.value or 0.0) * shares.usable.n)
    return Level(
        sessions=sessions,
        folder=folder,
        outcome=outcome,
        turns=len(turns),
        shares=shares,
        window_s=seconds,
        alive=steady.alive_mean if steady else None,
        alive_over_time=list(steady.alive) if steady else [],
        idle=idle(view),
        ttft_ms=_places(
            [turn.ttft_ns / 1e6 for turn in turns if turn.ttft_ns and not turn.stalled], (0.5, 0.95)
        ),
        decode_tok_s=_places(
            [v for turn in turns if (v := turn.decode_tok_s) and not turn.stalled], (0.05, 0.5)
        ),
        output_tok_s=steady.load.output_tok_s if steady else None,
        reuse=figures.prefix_cache.reported,
        expected=figures.prefix_cache.possible,
        evicted=figures.prefix_cache.evicted,
        preempted=(figures.server or {}).get("preempted"),
        kv_peak=figures.kv.peak_used if figures.kv else None,
        acceptance=figures.acceptance.rate if figures.acceptance else None,
        power_w=power,
        joules_per_usable_turn=power * seconds / usable_turns if power is not None and usable_turns else None,
        gpus=len(gpu["gpus"]) if gpu else None,
        goodput_per_s=_per_s(shares.within, turns, seconds),
        usable_goodput_per_s=None if good is None or not seconds else good * len(turns) / seconds,
        tokens={
            "prompt": _sum(turn.prompt_tokens for turn in turns if turn.error is None),
            "cached": _sum(turn.cached_tokens for turn in turns if turn.error is None),
            "completion": _sum(turn.completion_tokens for turn in turns if turn.error is None),
        },
        tiers={
            tier.words: interval(_known(is_good(turn, (*limits, tier)) for turn in turns), threshold)
            for tier in tiers
        },
        by_turn=_parts(turns, limits, sliced(turns, TURNS, lambda turn: turn.turn + 1)),
        by_prompt=_parts(turns, limits, sliced(turns, PROMPTS, lambda turn: turn.prompt_tokens)),
        valid=not reasons,
        reasons=reasons,
    )


def _places(values: Sequence[float], shares: Sequence[float]) -> dict[str, float | None]:
    ordered = sorted(values)
    return {f"p{share * 100:g}": quantile(ordered, share) for share in shares}


def _per_s(found: Rate, turns: Sequence[TurnFacts], seconds: float) -> float | None:
    return None if found.value is None or not seconds else found.value * len(turns) / seconds


def _sum(counts: Iterable[int | None]) -> float | None:
    known = list(counts)
    return None if None in known else float(sum(count or 0 for count in known))


def _power(gpu: JsonObject | None, lane: LaneView) -> float | None:
    """Mean watts of the lane's GPUs, where it had them for itself."""
    joules = gpu["energy_j"] if gpu else None
    at = [reading.sample["at"] for reading in lane.telemetry if reading.sample.get("gpus")]
    return joules / (at[-1] - at[0]) if joules and len(at) > 1 and at[-1] > at[0] else None


def _parts(
    turns: Sequence[TurnFacts], limits: tuple[Limit, ...], found: Mapping[str, Sequence[TurnFacts]]
) -> list[Part]:
    return [
        Part(
            name,
            len(some),
            rate(sum(good := _known(is_good(turn, limits) for turn in some)), len(good)).value,
            rate(sum(kept := _known(within(turn, limits) for turn in some)), len(kept)).value,
        )
        for name, some in found.items()
    ]
