"""The parts of a capacity search that need no engine: limits, intervals under repeated looks, bisection, crossings."""

from __future__ import annotations

from random import Random

import pytest

from replayer.errors import PlanError
from replayer.journal.turns import TurnFacts
from replayer.metrics.capacity.limits import is_good, parse_limits, within
from replayer.metrics.capacity.search import Agents, Outcome, agents, next_level
from replayer.metrics.capacity.sequential import design_effect, interval


def turn(ttft_ms: float = 100, tokens: int = 11, decode_ms: float = 100, **changed: object) -> TurnFacts:
    found = TurnFacts(turn=0, recorded_turn=0, wall=0.0, usable=True, completion_tokens=tokens, deltas=tokens)
    found.ttft_ns, found.decode_ns = int(ttft_ms * 1e6), int(decode_ms * 1e6)
    found.total_ns = found.ttft_ns + found.decode_ns
    for name, value in changed.items():
        setattr(found, name, value)
    return found


def test_a_limit_is_a_bound_and_the_share_of_turns_that_must_keep_it() -> None:
    ttft, decode = parse_limits("ttft_ms.p95=15000,decode_tok_s.p5=30")
    assert (ttft.figure, ttft.bound, ttft.share, ttft.under) == ("ttft_ms", 15000, 0.95, True)
    assert (decode.bound, decode.share, decode.under) == (30, 0.95, False)
    both = (ttft, decode)
    assert within(turn(), both) is True
    assert within(turn(ttft_ms=15001), both) is False
    assert within(turn(decode_ms=400), both) is False, "ten tokens in 400 ms are 25 a second"
    assert within(turn(error="server_error"), both) is False
    assert within(turn(stalled=True), both) is None, "the times of a busy machine say nothing"
    assert within(turn(held_back=True, decode_ns=None), both) is None, "a call whose first token is not known"
    assert is_good(turn(usable=False), both) is False
    for wrong in ("ttft_ms", "ttfb_ms.p95=3", "ttft_ms.p0=3", "ttft_ms.p95=fast"):
        with pytest.raises(PlanError):
            parse_limits(wrong)


@pytest.mark.parametrize("share", [0.95, 0.9, 0.99])
def test_the_interval_holds_however_often_it_is_looked_at(share: float) -> None:
    missed = 0
    for seed in range(100):
        draw, seen = Random(seed), list[bool]()
        for _ in range(30):
            seen += [draw.random() < share for _ in range(10)]
            found = interval(seen, 0.95, alpha=0.05)
            if not found.low <= share <= found.high:
                missed += 1
                break
    assert missed <= 10, "at most 5 % by theory, plus what a hundred runs may show by chance"


def test_turns_that_fail_together_count_as_fewer() -> None:
    draw = Random(1)
    apart = [draw.random() < 0.9 for _ in range(400)]
    together = [good for _ in range(40) for good in [draw.random() < 0.9] * 10]
    assert design_effect(apart) < 2 < 5 < design_effect(together)
    assert interval(together, 0.95).low < interval(apart, 0.95).low


@pytest.mark.parametrize("known", [0, 1, 3, 4, 13, 50, 64, 200])
@pytest.mark.parametrize("start", [1, 4, 100])
def test_bisection_finds_the_largest_level_that_holds(known: int, start: int) -> None:
    tried: dict[int, Outcome] = {}
    while (n := next_level(tried, start=start, cap=128)) is not None:
        assert n not in tried and 1 <= n <= 128
        tried[n] = "holds" if n <= known else "fails"
    found = agents(tried, cap=128)
    if known >= 128:
        assert found.capped and found.value == 128
    else:
        assert found == Agents(known, known, known)
    assert len(tried) <= 16


def test_levels_that_were_not_decided_widen_the_answer() -> None:
    tried: dict[int, Outcome] = {8: "holds", 16: "fails", 12: "holds", 14: "leans_fails", 13: "leans_holds"}
    assert agents(tried, cap=64) == Agents(13, 12, 15)


def test_a_resolution_ends_the_search_early() -> None:
    tried: dict[int, Outcome] = {}
    while (n := next_level(tried, start=4, cap=1000, resolution=0.1)) is not None:
        tried[n] = "holds" if n <= 300 else "fails"
    found = agents(tried, cap=1000)
    assert found.value is not None and 270 <= found.value <= 300 and len(tried) <= 12
