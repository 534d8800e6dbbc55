"""Comparison of lanes: what may be said of a difference, and what not."""

from dataclasses import replace

import pytest

from replayer.errors import PlanError
from replayer.journal.turns import TurnFacts
from replayer.metrics.catalogue import METRICS
from replayer.metrics.compare import compare_turns
from replayer.metrics.conclusions import pair_sentences
from replayer.metrics.decide import decide
from replayer.metrics.gate import parse
from replayer.metrics.run_documents import Pair

Turns = dict[tuple[str, int, int], TurnFacts]


def turns(usable: list[list[bool]], calls: int = 1) -> Turns:
    """Sessions of turns; an unusable turn has one invalid call."""
    return {
        (f"session{n}", 0, k): TurnFacts(
            turn=k,
            recorded_turn=k,
            wall=0,
            usable=good,
            total_ns=1,
            calls=calls,
            invalid_calls=0 if good else 1,
        )
        for n, session in enumerate(usable)
        for k, good in enumerate(session)
    }


def compared(a: Turns, b: Turns, metric: str = "usable_turn_rate", *, paired: bool = True) -> Pair:
    found = compare_turns("a", a, "b", b, METRICS[metric], paired=paired)
    assert found is not None
    return decide([found])[0]


def test_one_session_each_is_no_evidence() -> None:
    """21 of 140 against 38 of 221 failed calls."""
    a = turns([[False] * 21 + [True] * 119])
    b = turns([[False] * 38 + [True] * 183])
    found = compared(a, b, "invalid_call_rate")
    assert found.p_value is None and not found.decided
    assert found.conclusion == (
        "invalid tool calls: not tested, 1 session of at least 6; about 4,400 tool calls per engine would show this "
        "difference (+2.2 points for b, 95 % interval −5.9 to +9.6 within these sessions)"
    )
    assert (found.needed, found.needed_unit) == (5, "more sessions")
    assert "1 of at least 6 sessions" in found.method


def test_the_background_counted_in_turns() -> None:
    a = turns([[False] * 21 + [True] * 119])
    b = turns([[False] * 38 + [True] * 183])
    words = "about 4,400 turns per engine would show this difference"
    assert words in compared(a, b, paired=False).conclusion


def test_a_planted_difference_over_sessions_is_found() -> None:
    a = turns([[True] * 20 for _ in range(12)])
    b = turns([[True] * 16 + [False] * 4 for _ in range(12)])
    found = compared(a, b)
    assert found.difference == pytest.approx(-0.2)
    assert found.p_value == 2 / 2**12
    assert found.conclusion.startswith(
        "b is worse than a in usable turns: −20.0 points for b, 95 % interval "
    )


@pytest.mark.parametrize("paired", (True, False))
@pytest.mark.parametrize("sessions", (2, 7))
def test_no_interval_of_shares_reaches_past_100_points(sessions: int, paired: bool) -> None:
    """Nearly everything against nearly nothing: what Student's t would put past it is cut off, and only that."""
    a = turns([[True] * 4] * (sessions - 1) + [[True, True, True, False]])
    b = turns([[False] * 4] * (sessions - 1) + [[False] * 3 + [True]])
    for one, other, sign in ((a, b, -1), (b, a, 1)):
        found = compared(one, other, paired=paired)
        assert found.low is not None and found.high is not None
        assert -1 <= found.low < found.difference < found.high <= 1
        if sessions == 7:
            assert (found.low if sign < 0 else found.high) == sign, "it did reach past"


def test_the_same_replies_differ_by_nothing() -> None:
    a = turns([[True, False, True]] * 8)
    found = compared(a, a)
    assert (found.difference, found.p_value) == (0.0, 1.0)


def test_only_turns_of_both_lanes_are_paired() -> None:
    a = turns([[True] * 5] * 6)
    b = turns([[True] * 3] * 6)
    assert compared(a, b).n_turns == 18
    assert compared(a, b, paired=False).n_sessions == 6


def test_a_lane_that_says_nothing_is_not_compared() -> None:
    silent = {("s", 0, 0): TurnFacts(turn=0, recorded_turn=0, wall=0)}
    assert compare_turns("a", silent, "b", silent, METRICS["ttft_ms.p50"], paired=True) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("usable_turn_rate", "is not FIGURE < NUMBER"),
        ("usabel_turn_rate < 0.9", "did you mean 'usable_turn_rate'?"),
        ("nonsense drops by > 0.1", "known are usable_turn_rate"),
    ],
)
def test_a_wrong_condition_is_named(text: str, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse(text)
    assert words in str(caught.value)


def test_three_pairs_are_one_family() -> None:
    """A p of 0.031 decides one pair of lanes; among three pairs it does not."""
    a, b = turns([[True] * 8] * 6), turns([[True] * 5 + [False] * 3] * 6)
    assert compared(a, b).decided
    lanes = [(x, y) for x, y in (("a", "b"), ("a", "c"), ("b", "c"))]
    of = {"a": a, "b": b, "c": a}
    every = [compare_turns(x, of[x], y, of[y], METRICS["usable_turn_rate"], paired=True) for x, y in lanes]
    family = decide([pair for pair in every if pair is not None])
    assert [pair.decided for pair in family] == [False, False, False]
    assert "no evidence of a difference, once everything compared here is counted" in family[0].conclusion


@pytest.mark.parametrize("text", ["ttft_ms > 20", "itl_ms > 5", "ttft_ms rises by > 5", "ttft_ms.p97 > 3"])
def test_a_gate_on_a_time_names_its_quantile(text: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse(text)
    family = text.partition("_ms")[0] + "_ms"
    choices = f"choose one of {family}.p50, {family}.p90, {family}.p95, {family}.p99"
    assert choices in str(caught.value)


def test_a_gate_message_has_label_unit_and_limit() -> None:
    assert parse("ttft_ms.p95 > 20").words(22.6261) == "TTFT p95 22.6 ms (limit 20.0 ms)"
    assert parse("usable_turn_rate < 0.95").words(0.9) == "usable turns 90.0% (limit 95.0%)"
    assert parse("server.preempted > 0").metric is None


def test_repeats_are_no_evidence() -> None:
    """Two sessions that differ by luck, five times the same: nothing is tested, and the interval is not narrower."""
    once = turns([[True, False, True], [True, True, False]]), turns([[True, True, True], [True, True, True]])
    again = tuple(
        {(trace, repeat, turn): found for (trace, _, turn), found in lane.items() for repeat in range(5)}
        for lane in once
    )
    one, five = compared(*once), compared(*again)
    assert not five.decided and five.p_value is None
    assert (five.difference, five.low, five.high) == pytest.approx((one.difference, one.low, one.high))


@pytest.mark.parametrize("repeats", [1, 5])
def test_repeats_of_enough_sessions_do_not_change_what_is_decided(repeats: int) -> None:
    a, b = (
        {
            (trace, repeat, turn): found
            for (trace, _, turn), found in lane.items()
            for repeat in range(repeats)
        }
        for lane in (
            turns([[True] * 8] * 7),
            turns([[True] * (k % 3 + 5) + [False] * (3 - k % 3) for k in range(7)]),
        )
    )
    found = compared(a, b)
    assert (found.p_value, found.decided) == (2 / 2**7, True)


def test_a_clear_difference_of_few_sessions_is_open_and_not_denied() -> None:
    """Seven sessions, each 88 ms slower: among all that is compared that is not decided yet, and nowhere called equal."""
    clear = Pair(
        a="a", b="b", metric="ttft_ms.p50", better="lower", aa=False, sequential=False, n_turns=41, n_sessions=7,
        value_a=14.0, value_b=102.0, difference=88.0, low=86.0, high=94.0, p_value=0.0156, method="", needed=180,
        needed_for="10%",
    )  # fmt: skip
    same = [
        replace(clear, metric=metric, difference=0.0, low=-0.1, high=0.1, p_value=1.0, needed=None)
        for metric in ("usable_turn_rate", "ttft_ms.p95", "itl_ms.p50", "decode_tok_s")
    ]
    family = decide([*same, clear])
    assert not family[-1].decided and "from 10 such sessions on" in family[-1].conclusion
    words = [one.words for one in pair_sentences(family)]
    open_ = "a and b: not decided, though the interval alone excludes zero: time to first token (median)."
    assert open_ in words and sum("time to first token (median)" in said for said in words) == 1
