"""Plans: what a user may write, and what is said when it is wrong."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.errors import PlanError
from replayer.plan import Plan, batches, cells, load_plan, make_plan

LANES: list[dict[str, Any]] = [{"name": "a", "url": "http://x/v1"}, {"name": "b", "url": "http://y/v1"}]


def plan(**values: Any) -> Plan:
    return make_plan({"traces": ["t"], "lane": LANES, **values})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"repeats": 3}, "unknown key 'repeats'; did you mean 'repeat'?"),
        ({"lane": [{"name": "a", "url": "x", "sampeling": {}}]}, "did you mean 'sampling'?"),
        ({"limits": {"lag": 3}}, "unknown key 'limits.lag'; did you mean 'lag_ms'?"),
        ({"timing": "slow"}, "timing 'slow' is not asap, recorded or scaled:X"),
        ({"lane": [LANES[0], LANES[0]]}, "two lanes are named 'a'"),
        ({"lane": [{"name": "a"}]}, "needs one of url, urls or launch"),
        ({"lane": [{"name": "a/b", "url": "x"}]}, "must be made of letters"),
        ({"matrix": {"temperature": [0, 1]}}, "matrix key 'temperature' is not a lane setting"),
    ],
)
def test_a_wrong_plan_is_named_in_one_sentence(values: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=r"plan\.toml") as caught:
        make_plan({"traces": ["t"], "lane": LANES, **values}, "plan.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('traces = ["a"\nmode = 3\n')
    with pytest.raises(PlanError, match=r"plan\.toml is not valid TOML: .*line"):
        load_plan(path)


def test_a_matrix_makes_every_combination_a_lane() -> None:
    lanes = plan(matrix={"sampling.temperature": [0.0, 0.7], "sampling.top_p": [0.9]}).lane
    assert [lane.name for lane in lanes] == [
        "a+temperature=0.0+top_p=0.9",
        "a+temperature=0.7+top_p=0.9",
        "b+temperature=0.0+top_p=0.9",
        "b+temperature=0.7+top_p=0.9",
    ]
    assert lanes[1].sampling == {"temperature": 0.7, "top_p": 0.9}


def test_aa_runs_every_lane_twice() -> None:
    assert [lane.name for lane in plan(aa=True).lane] == ["a", "a.again", "b", "b.again"]


def test_interleaved_cells_go_a_b_b_a() -> None:
    made = plan(order="interleaved", repeat=2)
    phases = batches(made, cells(made, ["t"]))
    assert [[cell.lane for cell in queue] for phase in phases for queue in phase] == [["a", "b"], ["b", "a"]]


def test_exclusive_lanes_never_share_a_phase() -> None:
    lanes = [lane | {"exclusive": "gpu0"} for lane in LANES] + [{"name": "c", "url": "http://z/v1"}]
    made = make_plan({"traces": ["t", "u"], "lane": lanes})
    phases = batches(made, cells(made, ["t", "u"]))
    assert [{cell.lane for queue in phase for cell in queue} for phase in phases] == [{"a", "c"}, {"b"}]


@given(
    st.sampled_from(["parallel", "sequential", "interleaved"]),
    st.integers(1, 3),
    st.lists(st.sampled_from(["gpu0", "gpu1", None]), min_size=1, max_size=4),
)
def test_every_cell_is_run_exactly_once(order: str, repeat: int, groups: list[str | None]) -> None:
    lanes = [
        {"name": f"l{n}", "url": "http://x/v1"} | ({"exclusive": group} if group else {})
        for n, group in enumerate(groups)
    ]
    made = make_plan({"traces": ["t", "u"], "lane": lanes, "repeat": repeat, "order": order})
    todo = cells(made, ["t", "u"])
    done = [cell for phase in batches(made, todo) for queue in phase for cell in queue]
    assert sorted(done) == sorted(todo)
