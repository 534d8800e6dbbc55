"""What the server itself says of a lane: counters over the run, acceptance, load, energy, and the speed bands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from replayer.signals.bands import Window, find_bands
from replayer.telemetry.deltas import Deltas, deltas, foreign_tokens, merge
from replayer.telemetry.energy import lane_energy
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.journal.events import TelemetryRead
    from replayer.journal.turns import TurnFacts

TIERS = ("device", "host", "remote")
"""Where cached tokens came from, as far as an engine says so."""
LEAST_TOKENS = 32
LEAST_SECONDS = 0.02
"""Turns with fewer tokens, or that arrived in one go, say nothing about a speed."""


def server_figures(
    readings: Sequence[TelemetryRead], completion_tokens: int | None = None, prompt_tokens: int | None = None
) -> JsonObject | None:
    """The server's own account; None without a reading. `completion_tokens` and `prompt_tokens` are what this
    run asked of it in all, on every lane and in every attempt, to tell foreign traffic. `complete` is false where readings failed or counters fell."""
    if not readings:
        return None
    samples = by_instance(readings).values()
    total = merge([deltas(one) for one in samples])
    good = [reading.sample for reading in readings if "missing" not in reading.sample]
    counters = total.counters
    return {
        "source": "metrics",
        "complete": total.complete,
        "readings": total.readings,
        "missing": total.missing,
        "why": list(total.why),
        "resets": total.resets,
        "seconds": total.seconds,
        "tokens": {
            "prompt": counters.get("prompt_tokens"),
            "cached": counters.get("cached_tokens"),
            "generated": counters.get("generated_tokens"),
            "external_cached": counters.get("external_cached_tokens"),
            **{f"cached_{tier}": counters.get(f"cached_{tier}_tokens") for tier in TIERS},
        },
        "foreign_tokens": {
            name: foreign_tokens(None if total.resets else counters.get(f"{name}_tokens"), ours)
            for name, ours in (("prompt", prompt_tokens), ("generated", completion_tokens))
        },
        "hit_rate": total.hit_rate,
        "acceptance": _acceptance(total),
        "generation_tok_s": _busy_speed(samples),
        "preempted": counters.get("preempted"),
        "evicted_tokens": counters.get("evicted_tokens"),
        "peak": {name: _peak(good, name) for name in ("running", "waiting", "kv_used")},
        "gpu": gpu_figures([reading.sample for reading in readings], counters.get("generated_tokens")),
    }


def by_instance(readings: Iterable[TelemetryRead]) -> dict[str, list[JsonObject]]:
    """Counters of two servers are never set against each other."""
    found: dict[str, list[JsonObject]] = defaultdict(list)
    for reading in readings:
        found[reading.instance].append(reading.sample)
    return found


def _acceptance(total: Deltas) -> JsonObject | None:
    if total.acceptance_rate is None:
        return None
    positions = total.per_position
    drafts = total.counters.get("drafts")
    rates = [accepted / drafts for accepted in positions] if positions and drafts else None
    return {
        "rate": total.acceptance_rate,
        "length": total.acceptance_length,
        "per_position": rates,
        "source": total.acceptance_from,
    }


def _busy_speed(instances: Iterable[Sequence[JsonObject]]) -> float | None:
    """Generated tokens over the time between readings in which any were generated."""
    tokens = seconds = 0.0
    for samples in instances:
        for before, after in pairwise(sample for sample in samples if "generated_tokens" in sample):
            made = after["generated_tokens"] - before["generated_tokens"]
            if made > 0:
                tokens += made
                seconds += after["at"] - before["at"]
    return tokens / seconds if seconds else None


def _peak(samples: Sequence[JsonObject], name: str) -> float | None:
    return max((sample[name] for sample in samples if name in sample), default=None)


def gpu_figures(samples: Sequence[JsonObject], generated: float | None) -> JsonObject | None:
    """Peaks over the lane's GPUs, of each of them, and its energy in joules, where it had them for itself."""
    gpus = [gpu for sample in samples for gpu in sample.get("gpus", ())]
    if not gpus:
        return None
    energy = lane_energy(samples)
    joules = energy.joules if energy else None
    single = {gpu["gpu"]: [one for one in gpus if one["gpu"] == gpu["gpu"]] for gpu in gpus}
    return {
        "source": gpus[0]["source"],
        "names": sorted({gpu["name"] for gpu in gpus if gpu.get("name")}),
        **_peaks(gpus),
        "energy_j": joules,
        "energy_per_token_j": joules / generated if joules is not None and generated else None,
        "assignment": energy.assignment if energy else "unknown",
        "shared_with": list(energy.lanes) if energy and len(energy.lanes) > 1 else [],
        "shared_energy_j": energy.shared_joules if energy else None,
        "gpus": [{"gpu": number, **_peaks(found)} for number, found in sorted(single.items())],
    }


def _peaks(gpus: Sequence[JsonObject]) -> dict[str, float | None]:
    return {
        "peak_utilisation": _peak(gpus, "utilisation"),
        "peak_memory_utilisation": _peak(gpus, "memory_utilisation"),
        "peak_memory_bytes": _peak(gpus, "memory_used"),
        "peak_temperature_c": _peak(gpus, "temperature_c"),
        "peak_power_w": _peak(gpus, "power_w"),
    }


def speed_bands(turns: Sequence[TurnFacts], readings: Sequence[TelemetryRead]) -> JsonObject | None:
    """Bands of decode speed, over turns where the engine counts drafts per request, else over the time between
    readings, else over turns without knowing acceptance. None without a window."""
    of_turns, of_readings = turn_windows(turns), reading_windows(readings)
    if any(window.acceptance is not None for window in of_turns):
        windows, over = of_turns, "turns"
    elif any(window.acceptance is not None for window in of_readings):
        windows, over = of_readings, "readings"
    else:
        windows, over = of_turns, "turns"
    return {"over": over, **find_bands(windows).as_data()} if windows else None


def turn_windows(turns: Sequence[TurnFacts]) -> list[Window]:
    """By the engine's own speed of each reply where it states one, by the client's otherwise."""
    windows = []
    for turn in turns:
        speed = turn.server_tok_s or turn.decode_tok_s
        tokens = turn.completion_tokens or 0
        if speed and tokens >= LEAST_TOKENS and tokens / speed >= LEAST_SECONDS:
            rate = (turn.accepted or 0) / turn.drafted if turn.drafted else None
            windows.append(Window(speed, rate))
    return windows


def reading_windows(readings: Sequence[TelemetryRead]) -> list[Window]:
    """Between two readings that both found a request running: server tokens/s, acceptance, and load."""
    windows: list[Window] = []
    for samples in by_instance(readings).values():
        good = [sample for sample in samples if "missing" not in sample and "generated_tokens" in sample]
        for before, after in pairwise(good):
            seconds = after["at"] - before["at"]
            made = after["generated_tokens"] - before["generated_tokens"]
            busy = min(before.get("running") or 0, after.get("running") or 0)
            if seconds <= 0 or made <= 0 or busy <= 0:
                continue
            drafted = after.get("drafted", 0) - before.get("drafted", 0)
            accepted = after.get("accepted", 0) - before.get("accepted", 0)
            rate = accepted / drafted if drafted > 0 else None
            windows.append(Window(made / seconds, rate, (before["running"] + after["running"]) / 2))
    return windows
