"""From what the lanes' levels showed to the document: what the limits alone say, tiers, energy, cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from replayer.metrics.capacity.document import (
    Capacity,
    Costs,
    LaneCapacity,
    answer_words,
    crossings,
    eviction_from,
    of_tier,
    within_limits,
)
from replayer.metrics.capacity.levels import Level
from replayer.run.capacity.shape import CapacityShape

if TYPE_CHECKING:
    from replayer.run.capacity.search_run import Found


def document(
    shape: CapacityShape, found: Sequence[Found], notes: Sequence[str], turns_per_session: float
) -> Capacity:
    lanes = [_lane(shape, one, turns_per_session) for one in found]
    limits = [limit.words for limit in shape.limits]
    return Capacity(
        limits=limits,
        usable=shape.usable,
        cap=shape.cap,
        lanes=lanes,
        crossings=crossings(lanes),
        notes=list(notes),
    )


def _lane(shape: CapacityShape, found: Found, turns_per_session: float) -> LaneCapacity:
    levels = sorted((level for level in found.levels), key=lambda level: level.sessions)
    good = [level for level in levels if level.valid]
    tiers = {limit.words: of_tier(good, limit.words, shape.usable, shape.cap) for limit in shape.tier_limits}
    claimed = found.agents is not None
    answer = next(
        (level for level in good if claimed and found.agents and level.sessions == found.agents.value), None
    )
    lane = LaneCapacity(
        lane=found.lane,
        agents=found.agents,
        within_limits=within_limits(good, shape.usable, shape.cap) if claimed else None,
        tiers={words: tier for words, tier in tiers.items() if tier is not None and claimed},
        levels=levels,
        eviction_from=eviction_from(levels),
        costs=_costs(shape, answer, turns_per_session) if answer else Costs(),
        valid=claimed,
        reasons=found.reasons,
    )
    return replace(lane, words=answer_words(lane, [limit.words for limit in shape.limits], shape.usable))


def _costs(shape: CapacityShape, level: Level, turns_per_session: float) -> Costs:
    gpus, power = shape.gpus or level.gpus, level.power_w
    usable = level.shares.usable
    sessions = (usable.value or 0.0) * usable.n / turns_per_session
    return Costs(
        agents_per_gpu=level.sessions / gpus if gpus else None,
        agents_per_kw=level.sessions / (power / 1000) if power else None,
        joules_per_usable_turn=level.joules_per_usable_turn,
        per_usable_session=_by_time(shape, gpus, level, sessions),
        per_usable_session_by_tokens=_by_tokens(shape, level, sessions),
    )


def _by_time(shape: CapacityShape, gpus: int | None, level: Level, sessions: float) -> float | None:
    if shape.price_gpu_hour is None or not gpus or not sessions:
        return None
    return shape.price_gpu_hour * gpus * level.window_s / 3600 / sessions


def _by_tokens(shape: CapacityShape, level: Level, sessions: float) -> float | None:
    prices, prompt, cached, completion = (
        shape.token_prices,
        *(level.tokens[k] for k in ("prompt", "cached", "completion")),
    )
    if prices is None or prompt is None or cached is None or completion is None or not sessions:
        return None
    return ((prompt - cached) * prices[0] + cached * prices[1] + completion * prices[2]) / sessions


def mean_turns(turns: Sequence[int]) -> float:
    return fmean(turns) if turns else 1.0
