"""Two runs are two clusters: what moves with the machine is not decided between them without an A/A floor."""

from pathlib import Path

import pytest

from replayer.journal.several_runs import against
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.metrics.compare import compare
from replayer.metrics.run_documents import Pair

SESSIONS, TURNS = 12, 6


def lane(run: str, name: str, slower: float, *, wobble: float = 0.0, unusable: int = 0) -> LaneView:
    """Sessions whose first tokens come after 100 ms and their number, times `slower`."""
    attempts = []
    for number in range(SESSIONS):
        attempt = Attempt(
            session=f"{name}/t{number}/0", number=1, lane=name, trace=f"t{number}", repeat=0, planned=TURNS,
            mode="recorded", tools="recorded", cache_reset="yes", isolation=None, tag=None, started=0, outcome="done",
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
