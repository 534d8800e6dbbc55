"""Two runs are two clusters: what moves with the machine is not decided between them without an A/A floor."""

from pathlib import Path

import pytest

from replayer.journal.several_runs import against
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.answers import story
from replayer.metrics.compare import compare
from replayer.metrics.figures import lane_figures
from replayer.metrics.run_documents import Pair, Story

SESSIONS, TURNS = 12, 6


def lane(
    run: str, name: str, slower: float, *, wobble: float = 0.0, unusable: int = 0, block: int = 0
) -> LaneView:
    """Sessions whose first tokens come after 100 ms and their number, times `slower`, in the `block`th minute of the run."""
    attempts = []
    for number in range(SESSIONS):
        attempt = Attempt(
            session=f"{name}/t{number}/0", number=1, lane=name, trace=f"t{number}", repeat=0, planned=TURNS,
            mode="recorded", tools="recorded", cache_reset="yes", isolation=None, tag=None, outcome="done",
            started=(60 * block + number) * 10**9, ended=(60 * block + number + 40) * 10**9,
        )  # fmt: skip
        for turn in range(TURNS):
            ttft = (100 + number + turn) * slower * (1 + (wobble if number % 2 else -wobble))
            attempt.turns[turn] = TurnFacts(
                turn=turn,
                recorded_turn=turn,
                wall=0,
                ttft_ns=round(ttft * 1e6),
                total_ns=10**9,
                usable=turn >= unusable,
            )
        attempts.append(attempt)
    return LaneView(
        name, "vllm", "m", "", {}, {}, tuple(attempts), (), (), SESSIONS, SESSIONS, SESSIONS, run=run
    )


def run(name: str, *lanes: LaneView) -> RunView:
    return RunView(name, "finished", "recorded", "recorded", {}, {}, 0, 0, lanes, (), 0, (), 0)


def compared(view: RunView, base: RunView, metric: str) -> Pair:
    view, pairs = against(view, base)
    return next(pair for pair in compare(view, pairs=pairs) if pair.metric == metric and not pair.aa)


def test_a_machine_that_was_slower_that_night_is_no_finding() -> None:
    found = compared(run("now", lane("now", "a", 1.1)), run("then", lane("then", "a", 1.0)), "ttft_ms.p50")
    assert found.between_runs and not found.decided and found.p_value is None
    assert "between two runs the run itself varies: run both with --aa" in found.conclusion


def test_replies_that_became_unusable_are_a_finding() -> None:
    bad, good = lane("now", "a", 1.0, unusable=2), lane("then", "a", 1.0)
    found = compared(run("now", bad), run("then", good), "usable_turn_rate")
    assert found.decided and found.conclusion.startswith(
        "a is worse than then:a in usable turns: −33.3 points"
    )


@pytest.mark.parametrize(("slower", "decided"), [(1.02, False), (1.5, True)])
def test_beyond_what_both_runs_differ_from_themselves_it_counts(slower: float, decided: bool) -> None:
    views = []
    for name, factor in (("now", slower), ("then", 1.0)):
        again = lane(name, "a.again", factor * 1.03, wobble=0.05)
        views.append(run(name, lane(name, "a", factor), again))
    found = compared(views[0], views[1], "ttft_ms.p50")
    assert found.decided == decided
    assert ("which a lane differs from itself within these runs" in found.method) or not decided


def test_runs_of_one_name_in_two_folders_are_two_runs(tmp_path: Path) -> None:
    found = compared(run("run", lane("run", "a", 1.1)), run("run", lane("run", "a", 1.0)), "ttft_ms.p50")
    assert found.between_runs and not found.decided


def within(*lanes: LaneView, metric: str = "ttft_ms.p50") -> Pair:
    """Lanes a and b of one run, and what else it holds."""
    pairs = compare(run("run", *lanes))
    return next(pair for pair in pairs if pair.metric == metric and not pair.aa)


def told(*lanes: LaneView) -> Story:
    return story([lane_figures(lane) for lane in lanes], compare(run("run", *lanes)), [], None)


@pytest.mark.parametrize("block", [0, 1])
def test_a_machine_that_became_slower_between_two_lanes_is_no_finding(block: int) -> None:
    """Beside each other the same times are a difference; one after the other they may be the machine's."""
    found = within(lane("run", "a", 1.0), lane("run", "b", 1.5, block=block))
    assert found.one_after_other == bool(block) and found.decided == (not block)
    assert ("one lane ran after the other" in found.conclusion) == bool(block)


def test_replies_that_became_unusable_count_whenever_they_came() -> None:
    lanes = lane("run", "a", 1.0), lane("run", "b", 1.0, unusable=2, block=1)
    assert within(*lanes, metric="usable_turn_rate").winner == "a"
    assert told(*lanes).headline.startswith("a is better than b in usable turns")


@pytest.mark.parametrize(
    ("slower", "drift", "decided"), [(2.0, 0.1, True), (1.0, 0.1, False), (1.02, 0.0, False)]
)
def test_one_after_the_other_what_changes_steadily_is_taken_off(
    slower: float, drift: float, decided: bool
) -> None:
    """a, a again, b, b again, each minute slower than the one before."""
    names, factors = ("a", "a.again", "b", "b.again"), (1.0, 1.0, slower, slower)
    lanes = [
        lane("run", name, factor * (1 + drift * minute), wobble=0.03 * (minute % 2), block=minute)
        for minute, (name, factor) in enumerate(zip(names, factors, strict=True))
    ]
    assert within(*lanes).decided == decided
    assert {one.lane for one in told(*lanes).standings} == {"a", "b"}, "a lane is not ranked against itself"
