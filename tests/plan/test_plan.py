"""Plans: what a user may write, and what is said when it is wrong."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.commands.plan_arguments import assign
from replayer.errors import PlanError
from replayer.plan.load import load_plan, make_plan
from replayer.plan.model import Plan
from replayer.plan.schedule import batches, sessions
from replayer.run.into import widen

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


def test_a_matrix_may_be_written_as_toml_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('traces = ["t"]\n[matrix]\nsampling.temperature = [0.0, 0.7]\nsampling.top_p = [0.9]\n')
    made = make_plan(load_plan(path) | {"lane": LANES[:1]})
    assert [lane.sampling for lane in made.lane] == [{"temperature": t, "top_p": 0.9} for t in (0.0, 0.7)]


def test_a_lane_of_a_matrix_knows_where_it_comes_from() -> None:
    made = plan(matrix={"options.k+options.v": ["f16", "q8_0"], "concurrency": [2]}, lane=LANES[:1])
    assert [(lane.name, lane.base, lane.setting) for lane in made.lane] == [
        ("a+k=f16+concurrency=2", "a", {"k": "f16", "concurrency": 2}),
        ("a+k=q8_0+concurrency=2", "a", {"k": "q8_0", "concurrency": 2}),
    ]
    assert made.lane[1].options == {"k": "q8_0", "v": "q8_0"}


def test_a_lane_that_varies_its_load_takes_turns_with_itself() -> None:
    made = plan(matrix={"concurrency": [1, 2]})
    phases = batches(made, sessions(made, ["t"]))
    assert [sorted(session.lane for queue in phase for session in queue) for phase in phases] == [
        ["a+concurrency=1", "b+concurrency=1"],
        ["a+concurrency=2", "b+concurrency=2"],
    ]


def test_repeats_are_blocks_where_lanes_take_turns_or_rest() -> None:
    for values in (
        {"order": "sequential"},
        {"cool_down": 1.0, "lane": [lane | {"exclusive": "g"} for lane in LANES]},
    ):
        made = plan(repeat=2, **values)
        phases = batches(made, sessions(made, ["t", "u"]))
        blocks = [
            {(session.lane, session.repeat) for queue in phase for session in queue} for phase in phases
        ]
        assert blocks == [{("a", 0)}, {("a", 1)}, {("b", 0)}, {("b", 1)}]


def test_aa_runs_every_lane_twice() -> None:
    assert [lane.name for lane in plan(aa=True).lane] == ["a", "a.again", "b", "b.again"]


def test_interleaved_sessions_go_a_b_b_a() -> None:
    made = plan(order="interleaved", repeat=2)
    phases = batches(made, sessions(made, ["t"]))
    assert [[session.lane for session in queue] for phase in phases for queue in phase] == [
        ["a", "b"],
        ["b", "a"],
    ]


def test_exclusive_lanes_never_share_a_phase() -> None:
    lanes = [lane | {"exclusive": "gpu0"} for lane in LANES] + [{"name": "c", "url": "http://z/v1"}]
    made = make_plan({"traces": ["t", "u"], "lane": lanes})
    phases = batches(made, sessions(made, ["t", "u"]))
    assert [{session.lane for queue in phase for session in queue} for phase in phases] == [{"a", "c"}, {"b"}]


@given(
    st.sampled_from(["parallel", "sequential", "interleaved"]),
    st.integers(1, 3),
    st.lists(st.sampled_from(["gpu0", "gpu1", None]), min_size=1, max_size=4),
    st.sampled_from([0.0, 1.0]),
)
def test_every_session_is_run_exactly_once(
    order: str, repeat: int, groups: list[str | None], rest: float
) -> None:
    lanes = [
        {"name": f"l{n}", "url": "http://x/v1"} | ({"exclusive": group} if group else {})
        for n, group in enumerate(groups)
    ]
    made = make_plan(
        {"traces": ["t", "u"], "lane": lanes, "repeat": repeat, "order": order, "cool_down": rest}
    )
    todo = sessions(made, ["t", "u"])
    done = [session for phase in batches(made, todo) for queue in phase for session in queue]
    assert sorted(done) == sorted(todo)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("repeat=3", {"repeat": 3}),
        ("workload.sessions=4", {"workload": [{"name": "x", "sessions": 4}, {"name": "y", "sessions": 4}]}),
        ("matrix.sampling.temperature=[0.0, 1]", {"matrix": {"sampling.temperature": [0.0, 1]}}),
        ("slo.ttft_ms=200", {"slo": {"ttft_ms": 200, "tpot_ms": 40}}),
        ("order=sequential", {"order": "sequential"}),
    ],
)
def test_set_changes_one_value_of_a_plan(text: str, wanted: dict[str, Any]) -> None:
    values: dict[str, Any] = {
        "workload": [{"name": "x"}, {"name": "y", "sessions": 2}],
        "slo": {"tpot_ms": 40},
    }
    assign(values, text)
    assert {key: values[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "live"}, "keeps the mode of that run (recorded)"),
        ({"repeat": 1}, "has 2 repeats already; it cannot have 1"),
        ({"lane": [LANES[0] | {"sampling": {"seed": 1}}]}, "its lane 'a' has another sampling"),
    ],
)
def test_a_run_is_not_widened_to_another_run(values: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        widen(plan(repeat=2), plan(**values), given=values.keys(), run="last")
    assert message in str(caught.value)
