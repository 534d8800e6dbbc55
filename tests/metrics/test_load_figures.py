"""Figures of load over planted requests: each from its definition, worked out by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.journal.sealed import Attempts
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.crossover import crossover, find
from replayer.metrics.documents import Quantiles, Tail
from replayer.metrics.load_figures import busy_seconds, load
from replayer.metrics.run_documents import Level
from replayer.metrics.sweep import saturation
from replayer.metrics.variance import over_repeats


def turn(wall: float, ttft_ms: float, total_ms: float, tokens: int, *, error: str | None = None) -> TurnFacts:
    times = None if error else round(ttft_ms * 1e6)
    return TurnFacts(
        turn=0, recorded_turn=0, wall=wall, ttft_ns=times, total_ns=round(total_ms * 1e6), completion_tokens=tokens, error=error
    )  # fmt: skip


def test_throughput_is_over_the_time_in_which_a_request_was_in_flight() -> None:
    turns = [
        turn(0.0, 100, 1000, 50),
        turn(0.5, 100, 1000, 50),
        turn(10.0, 100, 500, 20),
    ]  # 1.5 s, a rest, 0.5 s
    figures = load(turns, 2, None)
    assert figures.busy_s == pytest.approx(2.0)
    assert figures.output_tok_s == pytest.approx(60.0)
    assert figures.requests_per_s == pytest.approx(1.5)


def test_time_per_output_token_leaves_the_first_out() -> None:
    figures = load([turn(0, 100, 1000, 10), turn(2, 50, 50, 1)], 1, None)
    assert figures.tpot_ms == Quantiles(100.0, 100.0, 100.0, 100.0, 1)


def test_goodput_counts_requests_that_keep_every_limit() -> None:
    turns = [
        turn(0, 100, 1000, 10),  # 100 ms a token
        turn(1, 300, 1200, 10),  # late
        turn(3, 100, 1900, 10),  # slow: 200 ms a token
        turn(5, 0, 500, 0, error="disconnect"),
        turn(6, 200, 200, 1),  # just in time, and of one token
    ]
    goodput = load(turns, 1, {"ttft_ms": 200.0, "tpot_ms": 150.0, "e2e_ms": None}).goodput
    assert goodput is not None
    assert goodput.met.value == pytest.approx(2 / 5)
    assert goodput.limits == {"ttft_ms": 200.0, "tpot_ms": 150.0}
    assert goodput.requests_per_s == pytest.approx(2 / 4.8)
    assert load(turns, 1, None).goodput is None
    errors = load(turns, 1, None).error_rate
    assert errors is not None and errors.value == pytest.approx(1 / 5)


@pytest.mark.parametrize(("slowest", "flagged"), [(150.0, False), (2000.0, True)])
def test_a_tail_is_flagged(slowest: float, flagged: bool) -> None:
    turns = [turn(n, 100, 200, 10) for n in range(98)] + [turn(100 + n, slowest, 3000, 10) for n in range(3)]
    assert load(turns, 1, None).tail.flagged is flagged
    assert load(turns[-5:], 1, None).tail == Tail(None, None), "too few to tell"


def test_nothing_known_is_none_and_never_zero() -> None:
    figures = load([turn(0, 1, 2, 1, error="unreachable")], 1, None)
    assert figures.output_tok_s is None
    assert figures.ttft_ms.p50 is None
    assert load([], 1, {"ttft_ms": 1.0}).error_rate is None


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 100), st.integers(1, 5_000)), min_size=1, max_size=12))
def test_busy_time_is_the_union_of_the_requests(spans: list[tuple[float, int]]) -> None:
    turns = [turn(wall, 1, ms, 2) for wall, ms in spans]
    longest, whole = max(ms for _, ms in spans) / 1000, sum(ms for _, ms in spans) / 1000
    assert longest - 1e-6 <= busy_seconds(turns) <= whole + 1e-6


def ramp(capacity: float, levels: list[int]) -> list[tuple[float, float]]:
    return [(level, 10.0 * min(level, capacity)) for level in levels]


@pytest.mark.parametrize("capacity", [2, 4, 8, 16])
def test_the_saturation_point_of_a_planted_ramp(capacity: int) -> None:
    found = saturation(ramp(capacity, [1, 2, 4, 8, 16, 32]))
    assert found is not None
    assert (found.level, found.saturated, found.knee) == (capacity, True, capacity)


def test_a_ramp_that_still_grows_is_not_saturated() -> None:
    found = saturation(ramp(1000, [1, 2, 4, 8]))
    assert found is not None
    assert (found.level, found.saturated) == (8, False)
    assert saturation(ramp(8, [2])) is None
    assert saturation([(1, 0.0), (2, 0.0)]) is None
    late = saturation(ramp(8, [2, 4, 8, 16]))
    assert late is not None and late.knee is None, "without a level of one request there is no asymptote"


def test_the_spread_over_repeats() -> None:
    """By hand: mean 10, standard deviation 1, t(0.975, 4) = 2.7764."""
    found = over_repeats([9.0, 9.0, 10.0, 11.0, 11.0])
    assert found.mean == 10.0 and found.cv == pytest.approx(0.1)
    assert found.high - found.mean == pytest.approx(2.7764 / math.sqrt(5), rel=1e-4)


def level(length: float, difference: float, faster: str | None) -> Level:
    return Level(length, 0, difference, difference, None, None, 9, faster)


def test_a_crossover_lies_between_two_decided_lengths() -> None:
    levels = [level(64, 40, "a"), level(256, 5, None), level(1024, -40, "b"), level(4096, -300, "b")]
    (crossing,) = find(levels)
    assert (crossing["from"], crossing["to"], crossing["after"], crossing["by"]) == ("a", "b", 64, 1024)
    assert crossing["estimate"] == pytest.approx(544)


def lane(name: str, length: int, ttft_ms: float, tpot_ms: float, sessions: int = 10) -> LaneView:
    """Sessions of one request each, some a little slower than others."""
    attempts = []
    for session in range(sessions):
        attempt = Attempt(
            session=f"{name}/t{session}/0", number=1, lane=name, trace=f"t{session}", repeat=0, planned=1,
            mode="recorded", tools="recorded", cache_reset="yes", isolation=None, tag=None, started=0,
        )  # fmt: skip
        slower = 1 + session / 100
        attempt.turns[0] = turn(0, ttft_ms * slower, (ttft_ms + (length - 1) * tpot_ms) * slower, length)
        attempts.append(attempt)
    return LaneView(name, "vllm", "m", "", {}, {}, Attempts(attempts), (), (), sessions, sessions, sessions)


def curve(name: str, ttft_ms: float, tpot_ms: float, sessions: int = 10) -> list[tuple[float, LaneView]]:
    return [(n, lane(name, n, ttft_ms, tpot_ms, sessions)) for n in (64, 256, 1024)]


def test_the_lane_that_starts_sooner_wins_the_short_answers() -> None:
    """50 ms sooner against 0.25 ms a token: level at 201 tokens."""
    found = crossover("soon", curve("soon", 50, 10.25), "fast", curve("fast", 100, 10))
    assert found is not None
    (crossing,) = found.crossovers
    assert (crossing["from"], crossing["to"], crossing["after"], crossing["by"]) == ("soon", "fast", 64, 256)
    assert crossing["estimate"] == pytest.approx(201, abs=2)
    assert found.conclusion == "fast is faster than soon from about 201 tokens on (between 64 and 256)"


def test_without_a_crossover_the_sentence_says_who_is_faster_where() -> None:
    found = crossover("a", curve("a", 50, 10), "b", curve("b", 50, 12))
    assert found is not None and found.crossovers == []
    assert found.conclusion.startswith("no crossover: a is faster at 64, 256, 1,024 tokens")
    same = crossover("a", curve("a", 50, 10), "b", curve("b", 50, 10))
    assert same is not None and same.conclusion == "no length at which a and b differ beyond noise"
    few = crossover("a", curve("a", 50, 10, 3), "b", curve("b", 50, 12, 3))
    assert few is not None and few.conclusion == "no length at which a and b differ beyond noise"


def test_noise_is_no_crossover() -> None:
    assert find([level(64, 40, "a"), level(256, -5, None), level(1024, -9, None)]) == []
    assert find([level(64, 4, None), level(256, -5, None)]) == []
