"""Type I error and power of the comparison alone, on sessions harder than `benchmarks.stats` can make real engines give.

Each session has its own share of usable turns (beta-distributed, intraclass correlation RHO) and its own length. Cases: lanes
that are equal; lanes that react differently to a session (10 points up or down, none in the mean); repeats that are drawn anew,
or the same five times, as at temperature 0. The views are made here; everything after is the product's own `compare`.

    python -m benchmarks.stats_model [SIMULATIONS]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from replayer.journal.sealed import Attempts
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.compare import compare
from replayer.metrics.stats import wilson

SESSIONS, REPEATS = (1, 2, 5, 6, 8, 20), (1, 5)
RATE, RHO, LENGTHS = 0.85, 0.2, (5, 20)
PILOT, PLANTED = 12, 0.05


@dataclass(frozen=True, slots=True)
class Case:
    sessions: int
    repeats: int
    wobble: float = 0.0
    same: bool = False
    """Every repeat is the first one again."""
    effect: float = 0.0


def rates(draw: random.Random, case: Case) -> Iterator[tuple[float, float, int]]:
    """Share of usable turns of a and of b, and length, by session."""
    for _ in range(case.sessions):
        rate = draw.betavariate(RATE * (1 / RHO - 1), (1 - RATE) * (1 / RHO - 1))
        reach = min(case.wobble, rate, 1 - rate) * draw.choice((-1, 1))
        yield rate, min(1.0, max(0.0, rate + reach - case.effect)), draw.randint(*LENGTHS)


def run(draw: random.Random, case: Case) -> RunView:
    made = list(rates(draw, case))
    lanes = []
    for name, side in (("a", 0), ("b", 1)):
        attempts = []
        for number, (rate_a, rate_b, length) in enumerate(made):
            rate = (rate_a, rate_b)[side]
            usable = [[draw.random() < rate for _ in range(length)] for _ in range(case.repeats)]
            for repeat in range(case.repeats):
                attempts.append(_attempt(name, number, repeat, usable[0 if case.same else repeat]))
        size = len(attempts)
        lanes.append(
            LaneView(name, "vllm", "m", "", {}, {}, Attempts(attempts), (), (), size, size, 0, run="r")
        )
    return RunView("r", "finished", "recorded", "recorded", {}, {}, 0, 0, tuple(lanes), (), 0, (), 0)


def _attempt(lane: str, number: int, repeat: int, usable: list[bool]) -> Attempt:
    attempt = Attempt(
        session=f"{lane}/t{number}/{repeat}", number=1, lane=lane, trace=f"t{number}", repeat=repeat, planned=len(usable),
        mode="recorded", tools="recorded", cache_reset="yes", isolation=None, tag=None, started=0, outcome="done",
    )  # fmt: skip
    attempt.turns = {
        turn: TurnFacts(turn=turn, recorded_turn=turn, wall=0, total_ns=1, usable=good)
        for turn, good in enumerate(usable)
    }
    return attempt


def share(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"{count / of:6.1%} [{low:.1%}, {high:.1%}]"


def claims(case: Case, simulations: int, seed: int) -> int:
    draw = random.Random(seed)
    return sum(any(pair.decided for pair in compare(run(draw, case))) for _ in range(simulations))


def main() -> None:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print(
        f"{simulations} simulations a row; usable turns {RATE:.0%}, ICC {RHO}, {LENGTHS[0]} to {LENGTHS[1]} turns"
    )
    for words, wobble, same in (
        ("equal lanes", 0.0, False),
        ("lanes react differently to a session", 0.1, False),
        ("the same, with five equal repeats", 0.1, True),
    ):
        print(f"\ntype I error: {words}")
        for sessions in SESSIONS:
            for repeats in (5,) if same else REPEATS:
                case = Case(sessions, repeats, wobble, same)
                wrong = claims(case, simulations, sessions * 10 + repeats)
                print(f"{sessions:8} x {repeats}   {share(wrong, simulations)}", flush=True)
    draw, sizes = random.Random(7), []
    for _ in range(50):
        primary = compare(run(draw, Case(PILOT, 1)), metrics=("usable_turn_rate",))[0]
        sizes += [primary.needed] if primary.needed else []
    size = sorted(sizes)[len(sizes) // 2]
    found = claims(Case(size, 1, effect=PLANTED), min(simulations, 200), 9)
    print(f"\nrecommended by pilots of {PILOT} sessions: {min(sizes)} to {max(sizes)}, median {size}")
    print(f"power for -5 points at {size} sessions: {share(found, min(simulations, 200))}")


if __name__ == "__main__":
    main()
