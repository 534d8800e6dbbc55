"""Energy of a lane: what its GPUs used while it was sampled, where it is known to have had them for itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

Assignment = Literal["asked", "detected", "unknown"]
"""How it is known which GPUs a lane uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """`joules` is the lane's own; what it shared with `lanes` stands in `shared_joules`, whole, for all of them."""

    assignment: Assignment
    joules: float | None = None
    shared_joules: float | None = None
    lanes: tuple[str, ...] = ()
    """All lanes that used one of its GPUs at some moment; one name where it had them for itself."""


def lane_energy(samples: Sequence[JsonObject]) -> Energy | None:
    """None without two readings of a GPU. Journals written before readings named their lanes say `unknown`."""
    read = [sample for sample in samples if sample.get("gpus")]
    if len(read) < 2:
        return None
    gpus = [gpu for sample in read for gpu in sample["gpus"]]
    known: set[Assignment] = {gpu.get("assignment", "unknown") for gpu in gpus}
    if "unknown" in known:
        return Energy(assignment="unknown")
    how: Assignment = "asked" if known == {"asked"} else "detected"
    lanes = tuple(sorted({lane for gpu in gpus for lane in gpu.get("lanes", ())}))
    total = energy_j(read)
    if len(lanes) > 1:
        return Energy(assignment=how, shared_joules=total, lanes=lanes)
    return Energy(assignment=how, joules=total, lanes=lanes)


def energy_j(samples: Sequence[JsonObject]) -> float | None:
    """Joules of all GPUs over the readings: from their energy counters, else power integrated over time.

    None with fewer than two readings that say either.
    """
    read = [(sample["at"], sample["gpus"]) for sample in samples if sample.get("gpus")]
    if len(read) < 2:
        return None
    first, last = ({gpu["gpu"]: gpu for gpu in gpus} for _, gpus in (read[0], read[-1]))
    if all("energy_j" in gpus.get(number, {}) for gpus in (first, last) for number in first):
        return sum(float(last[number]["energy_j"] - first[number]["energy_j"]) for number in first)
    total = 0.0
    for (at, gpus), (then, later) in itertools.pairwise(read):
        before, after = _power(gpus), _power(later)
        if before is None or after is None:
            return None
        total += (before + after) / 2 * (then - at)
    return total


def _power(gpus: Sequence[JsonObject]) -> float | None:
    watts = [gpu.get("power_w") for gpu in gpus]
    return None if None in watts else float(sum(w for w in watts if w is not None))
