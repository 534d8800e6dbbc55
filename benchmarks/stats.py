"""Type I error and power of every test that `stats.py` offers, on clustered sessions.

The tests are those of `replayer.stats`, on differences formed as `replayer.compare` forms them. Each session has its
own rate of usable turns (beta-distributed, intraclass correlation RHO) and its own length; both lanes replay the same
steps, and the session moves both. A test counts as a finding at nominal 5 %. Prints shares of SIMULATIONS.

    python -m benchmarks.stats [SIMULATIONS]
"""

from __future__ import annotations

import math
import random
import sys

from replayer.stats import Interval, clustered_difference, difference, e_value, holm, sign_flip

SESSIONS = (6, 8, 12, 20, 40, 80)
RHO = 0.2
RATE = 0.85
LENGTHS = (5, 40)
Session = tuple[list[bool], list[bool]]


def session_rate(random_: random.Random) -> float:
    return random_.betavariate(RATE * (1 / RHO - 1), (1 - RATE) * (1 / RHO - 1))


def draw(random_: random.Random, sessions: int, effect: float, wobble: float = 0.0) -> list[Session]:
    """`effect` lowers lane b's rate; `wobble` moves each session's rate up or down, as far as both ways have room."""
    found = []
    for _ in range(sessions):
        rate, size = session_rate(random_), random_.randint(*LENGTHS)
        reach = min(wobble, rate, 1 - rate)
        other = max(0.0, rate - effect + (reach if random_.random() < 0.5 else -reach))
        found.append(
            ([random_.random() < rate for _ in range(size)], [random_.random() < other for _ in range(size)])
        )
    return found


def paired(sessions: list[Session]) -> tuple[list[float], list[int]]:
    """Sum of b minus a over each session's steps, and its number of steps, as `compare` forms them."""
    return [float(sum(b) - sum(a)) for a, b in sessions], [len(a) for a, _ in sessions]


def excludes_zero(interval: Interval) -> bool:
    return not interval.low <= 0 <= interval.high


def sequential(sums: list[float]) -> bool:
    """Looked at after every session."""
    wins = losses = 0
    for moved in sums:
        wins, losses = wins + (moved > 0), losses + (moved < 0)
        if e_value(wins, losses) >= 20:
            return True
    return False


def findings(sessions: list[Session]) -> dict[str, bool]:
    """What each test says; the last one is not offered over six sessions: it takes all steps for independent."""
    sums, sizes = paired(sessions)
    means = [moved / size for moved, size in zip(sums, sizes, strict=True)]
    good = [sum(sum(session[lane]) for session in sessions) for lane in (0, 1)]
    return {
        "paired steps, sign-flip": sign_flip(sums) < 0.05,
        "paired steps, cluster interval": excludes_zero(clustered_difference(sums, sizes)),
        "session means, sign-flip": sign_flip(means) < 0.05,
        "session means, t interval": excludes_zero(clustered_difference(means, [1] * len(means))),
        "sequential e-value": sequential(sums),
        "(not offered: unpaired steps)": excludes_zero(difference(good[0], sum(sizes), good[1], sum(sizes))),
    }


def three_lanes(random_: random.Random, count: int) -> bool:
    """Family-wise: a false finding among the three pairs of three equal lanes, after Holm."""
    sessions = []
    for _ in range(count):
        rate, size = session_rate(random_), random_.randint(*LENGTHS)
        sessions.append([[random_.random() < rate for _ in range(size)] for _ in range(3)])
    pairs = {(x, y): [(s[x], s[y]) for s in sessions] for x, y in ((0, 1), (0, 2), (1, 2))}
    return min(holm({str(key): sign_flip(paired(pair)[0]) for key, pair in pairs.items()}).values()) < 0.05


def table(title: str, simulations: int, effect: float, wobble: float) -> None:
    print(f"\n{title}\n{'sessions':36}" + "".join(f"{count:>8}" for count in SESSIONS))
    shares: dict[str, list[float]] = {}
    for count in SESSIONS:
        random_ = random.Random(count)
        seen = [findings(draw(random_, count, effect, wobble)) for _ in range(simulations)]
        for name in seen[0]:
            shares.setdefault(name, []).append(sum(one[name] for one in seen) / simulations)
    for name, row in shares.items():
        print(f"{name:36}" + "".join(f"{share:>8.1%}" for share in row), flush=True)


def main() -> None:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    error = math.sqrt(0.05 * 0.95 / simulations)
    print(
        f"{simulations} simulations, standard error {error:.1%} at 5 %; rate {RATE:.0%}, ICC {RHO}, sessions below"
    )
    table("type I error: the lanes are equal", simulations, 0, 0)
    table("type I error: sessions differ by 10 points either way, no mean effect", simulations, 0, 0.1)
    table("power: lane b is 10 points worse", simulations, 0.1, 0)
    random_ = random.Random(3)
    for count in (8, 20):
        hits = sum(three_lanes(random_, count) for _ in range(simulations))
        print(f"\nfamily-wise error over three equal lanes, {count} sessions, Holm: {hits / simulations:.1%}")


if __name__ == "__main__":
    main()
