"""Type I error and power of every test that `replayer.metrics.stats` offers, on clustered sessions.

Differences are formed as `replayer.metrics.compare` forms them. Each session has its own rate of usable turns (beta-distributed,
intraclass correlation RHO) and its own length; both lanes replay the same turns, and the session moves both. A test
counts as a finding at nominal 5 %. The tests run as arrays over all simulations at once; before that, each is held
against the function of `replayer.metrics.stats` on some of them. Prints shares of SIMULATIONS.

    python -m benchmarks.stats [SIMULATIONS]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from replayer.metrics.stats import (
    clustered_difference,
    difference,
    e_value,
    expanded_tail,
    holm,
    quantile_difference,
    sequential,
    sign_flip,
    student_t,
)

SESSIONS = (6, 8, 12, 20, 40, 80)
RHO = 0.2
RATE = 0.85
LENGTHS = (5, 40)
FLIPS = 9_999
CHECKED = 20
"""Simulations in which each array test is compared with the function it stands for."""
Array = np.ndarray


def session_rates(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.beta(RATE * (1 / RHO - 1), (1 - RATE) * (1 / RHO - 1), shape)


def draw(
    rng: np.random.Generator, shape: tuple[int, int], effect: float, wobble: float
) -> tuple[Array, Array, Array]:
    """(usable turns of a, of b, turns) by simulation and session. `effect` lowers lane b's rate; `wobble` moves each
    session's rate up or down, as far as both ways have room."""
    rate, size = session_rates(rng, shape), rng.integers(LENGTHS[0], LENGTHS[1] + 1, shape)
    reach = np.minimum(wobble, np.minimum(rate, 1 - rate))
    other = np.clip(rate - effect + np.where(rng.random(shape) < 0.5, reach, -reach), 0, 1)
    return rng.binomial(size, rate), rng.binomial(size, other), size


def sign_flips(rng: np.random.Generator, moved: Array) -> Array:
    """p of each row, as `sign_flip`: exact up to 14 sessions, else drawn."""
    count = moved.shape[1]
    if count <= 14:
        signs = 1 - 2 * ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1)
    else:
        signs = rng.choice(np.array([-1, 1]), (FLIPS, count))
    signs = signs.astype(float)
    p = np.empty(len(moved))
    for low in range(0, len(moved), 200):
        block = moved[low : low + 200]
        seen = np.abs(block.sum(axis=1)) * (1 - 1e-9) - 1e-12
        hits = (np.abs(signs @ block.T) >= seen).sum(axis=0)
        p[low : low + 200] = hits / len(signs) if count <= 14 else (hits + 1) / (FLIPS + 1)
    return p


def clustered(moved: Array, sizes: Array) -> Array:
    """Whether `clustered_difference` leaves zero out, by row."""
    groups, total = moved.shape[1], sizes.sum(axis=1, keepdims=True)
    mean = moved.sum(axis=1, keepdims=True) / total
    shifts = (moved - mean * sizes) / (total - sizes)
    reach = student_t(0.975, groups - 1) * np.sqrt((groups - 1) / groups * (shifts**2).sum(axis=1))
    return np.abs(mean[:, 0]) > reach


def sequentially(moved: Array) -> Array:
    """Whether `sequential`, looked at after every session, decides, by row."""
    wins, losses = np.cumsum(moved > 0, axis=1), np.cumsum(moved < 0, axis=1)
    table = np.array([[e_value(k, m) for m in range(moved.shape[1] + 1)] for k in range(moved.shape[1] + 1)])
    return table[wins, losses].max(axis=1) >= 20


def newcombe(a: Array, b: Array, sizes: Array) -> Array:
    n = sizes.sum(axis=1)
    pairs = zip(a.sum(axis=1), b.sum(axis=1), n, strict=True)
    found = (difference(int(x), int(m), int(y), int(m)) for x, y, m in pairs)
    return np.array([not gap.low <= 0 <= gap.high for gap in found])


def findings(
    rng: np.random.Generator, count: int, simulations: int, effect: float, wobble: float
) -> dict[str, float]:
    """Shares by test; the last one is not offered over six sessions: it takes all turns for independent."""
    a, b, sizes = draw(rng, (simulations, count), effect, wobble)
    sums, means = (b - a).astype(float), (b - a) / sizes
    ones = np.ones_like(sizes)
    tests = {
        "paired turns, sign-flip": sign_flips(rng, sums) < 0.05,
        "paired turns, cluster interval": clustered(sums, sizes),
        "session means, sign-flip": sign_flips(rng, means) < 0.05,
        "session means, t interval": clustered(means, ones),
        "sequential, a look per session": sequentially(means),
        "(not offered: unpaired turns)": newcombe(a, b, sizes),
    }
    for row in range(min(CHECKED, simulations)):
        check(tests, row, sums[row].tolist(), means[row].tolist(), sizes[row].tolist())
    return {name: float(found.mean()) for name, found in tests.items()}


def check(tests: dict[str, Array], row: int, sums: list[float], means: list[float], sizes: list[int]) -> None:
    """The array tests say what replayer's functions say."""
    of_sums, of_means = clustered_difference(sums, sizes), clustered_difference(means, [1] * len(means))
    assert tests["paired turns, cluster interval"][row] == (not of_sums.low <= 0 <= of_sums.high)
    assert tests["session means, t interval"][row] == (not of_means.low <= 0 <= of_means.high)
    assert tests["sequential, a look per session"][row] == (sequential(means)[0] <= 0.05)
    if len(sums) <= 14:
        assert tests["paired turns, sign-flip"][row] == (sign_flip(sums) < 0.05)


def times(rng: np.random.Generator, count: int, effect: float, size: int = 20) -> tuple[Array, Array]:
    """Milliseconds by session and turn for both lanes: the session, and each lane in it, go up and down together."""
    session = rng.normal(5, 0.4, (count, 1))
    return tuple(
        np.exp(session + shift + rng.normal(0, 0.15, (count, 1)) + rng.normal(0, 0.5, (count, size)))
        for shift in (0.0, math.log1p(effect))
    )  # type: ignore[return-value]


def quantile_interval(
    rng: np.random.Generator, lanes: tuple[Array, Array], share: float, draws: int = 1_000
) -> bool:
    """Whether `quantile_difference` leaves zero out."""
    count = len(lanes[0])
    draws = draws if count <= 20 else 400  # time
    weights = rng.multinomial(count, [1 / count] * count, draws)
    drawn = []
    for lane in lanes:
        order = np.argsort(lane, axis=None)
        reached = np.cumsum(weights[:, order // lane.shape[1]], axis=1)
        at = (reached >= share * reached[:, -1:] * (1 - 1e-12)).argmax(axis=1)
        drawn.append(lane.ravel()[order][at])
    gaps = np.sort(drawn[1] - drawn[0])
    tail = expanded_tail(count)
    return not gaps[math.floor(tail * (draws - 1))] <= 0 <= gaps[math.ceil((1 - tail) * (draws - 1))]


def of_times(rng: np.random.Generator, count: int, simulations: int, effect: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for words, share in (("median", 0.5), ("95th percentile", 0.95)):
        samples = [times(rng, count, effect) for _ in range(simulations)]
        moved = np.array(
            [np.diff(np.quantile(pair, share, axis=2, method="inverted_cdf"), axis=0)[0] for pair in samples]
        )
        found[f"{words}, sign-flip of sessions"] = float((sign_flips(rng, moved) < 0.05).mean())
        some = samples[: max(1, simulations // 2)]
        found[f"{words}, bootstrap interval"] = float(
            np.mean([quantile_interval(rng, pair, share) for pair in some])
        )
    return found


def three_lanes(rng: np.random.Generator, count: int, simulations: int) -> float:
    """Family-wise: a false finding among the three pairs of three equal lanes, after Holm."""
    rate, size = (
        session_rates(rng, (simulations, count)),
        rng.integers(LENGTHS[0], LENGTHS[1] + 1, (simulations, count)),
    )
    lanes = [rng.binomial(size, rate).astype(float) for _ in range(3)]
    p = [sign_flips(rng, lanes[y] - lanes[x]) for x, y in ((0, 1), (0, 2), (1, 2))]
    return (
        sum(min(holm(dict(zip("abc", row, strict=True))).values()) < 0.05 for row in zip(*p, strict=True))
        / simulations
    )


def table(title: str, rows: dict[str, list[float]]) -> None:
    print(f"\n{title}\n{'sessions':36}" + "".join(f"{count:>8}" for count in SESSIONS))
    for name, row in rows.items():
        print(f"{name:36}" + "".join(f"{share:>8.1%}" for share in row), flush=True)


def gathered(columns: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [column[name] for column in columns] for name in columns[0]}


def check_quantiles() -> None:
    """The bootstrap in arrays and replayer's own end in the same interval, but for what is drawn."""
    rng = np.random.default_rng(7)
    lanes = times(rng, 12, 0.6)
    own = quantile_difference(*([dict.fromkeys(row, 1.0) for row in lane.tolist()] for lane in lanes), 0.95)
    assert quantile_interval(rng, lanes, 0.95) == (not own.low <= 0 <= own.high)


def main() -> None:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    began = time.perf_counter()
    error = math.sqrt(0.05 * 0.95 / simulations)
    print(
        f"{simulations} simulations, standard error {error:.1%} at 5 %; rate {RATE:.0%}, ICC {RHO}, sessions below"
    )
    rng = np.random.default_rng(1)
    check_quantiles()
    for title, effect, wobble in (
        ("type I error: the lanes are equal", 0.0, 0.0),
        ("type I error: sessions differ by 10 points either way, no mean effect", 0.0, 0.1),
        ("power: lane b is 10 points worse", 0.1, 0.0),
    ):
        table(title, gathered([findings(rng, count, simulations, effect, wobble) for count in SESSIONS]))
    for title, effect in (
        ("type I error: quantiles of times, equal lanes", 0.0),
        ("power: times of lane b 20 % longer", 0.2),
    ):
        table(title, gathered([of_times(rng, count, simulations // 2, effect) for count in SESSIONS]))
    for count in (8, 20):
        print(
            f"\nfamily-wise error over three equal lanes, {count} sessions, Holm: {three_lanes(rng, count, simulations):.1%}"
        )
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
