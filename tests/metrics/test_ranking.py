"""Rankings respect noise; what is to be copied is a plan that runs."""

import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.engines.engine_spec import parse
from replayer.metrics.ranking import beats, decided, dominates
from replayer.metrics.run_documents import Pair
from replayer.plan.lane_text import lane_spec, lane_toml
from replayer.plan.load import make_plan
from replayer.plan.model import LanePlan


def pair(a: str, b: str, metric: str, difference: float, *, sure: bool) -> Pair:
    return Pair(
        a=a, b=b, metric=metric, better="higher", aa=False, sequential=False, n_turns=9, n_sessions=9, value_a=0,
        value_b=difference, difference=difference, low=None, high=None, p_value=None, method="", decided=sure,
    )  # fmt: skip


def test_usable_turns_come_first_and_speed_breaks_ties() -> None:
    better = decided(
        [
            pair("slow", "broken", "usable_turn_rate", -0.4, sure=True),
            pair("slow", "broken", "decode_tok_s", 90, sure=True),
            pair("slow", "fast", "usable_turn_rate", -0.01, sure=False),
            pair("slow", "fast", "decode_tok_s", 50, sure=True),
        ]
    )
    assert beats("slow", "broken", better) and not beats("broken", "slow", better)
    assert beats("fast", "slow", better) and not beats("slow", "fast", better)
    assert dominates("fast", "slow", better)
    assert not dominates("slow", "broken", better), "it is slower"
    assert not dominates("broken", "slow", better), "it is less usable"


def test_what_is_not_decided_is_a_tie() -> None:
    better = decided(
        [pair("a", "b", "usable_turn_rate", -0.3, sure=False), pair("a", "b", "decode_tok_s", 9, sure=False)]
    )
    assert not any(f(x, y, better) for f in (beats, dominates) for x, y in (("a", "b"), ("b", "a")))


sampling = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2, allow_nan=False),
        "seed": st.integers(0, 10**9),
        "stop": st.lists(st.text(max_size=6), max_size=3),
        "user": st.text(min_size=1, max_size=12),
        "logit_bias": st.dictionaries(
            st.text("0123456789", min_size=1, max_size=3), st.integers(-9, 9), max_size=2
        ),
    },
)


@settings(max_examples=60)
@given(sampling)
def test_the_settings_to_copy_are_those_of_the_lane(fields: dict[str, Any]) -> None:
    (lane,) = make_plan(
        {
            "traces": ["t"],
            "lane": [{"name": "a", "url": "http://127.0.0.1:1/v1", "sampling": fields, "max_tokens": 9}],
            "matrix": {"sampling.top_p": [0.9]},
        }
    ).lane
    (copied,) = make_plan({"traces": ["t"], **tomllib.loads(lane_toml(lane.model_dump()))}).lane
    assert copied == lane.model_copy(update={"name": "a", "base": None, "setting": {}})


def test_the_command_line_to_copy() -> None:
    lane = LanePlan(
        name="a", launch="embedded", sampling={"temperature": 0.7}, options={"cache_type_k": "q8_0"}
    )
    text = lane_spec(lane.model_dump())
    assert text == "--engine a=embedded,cache_type_k=q8_0,temperature=0.7"
    spec = parse(text.removeprefix("--engine "))
    assert (spec.launch, spec.sampling, spec.options) == (
        "embedded",
        {"temperature": 0.7},
        {"cache_type_k": "q8_0"},
    )
    (swept,) = make_plan(
        {"traces": ["t"], "lane": [lane.model_dump()], "matrix": {"sampling.top_p": [0.9]}}
    ).lane
    assert lane_spec(swept.model_dump()) == f"{text},top_p=0.9", (
        "a name without the matrix: it is parsed again"
    )
    assert lane_spec(LanePlan(name="a", urls=("http://x/v1", "http://y/v1")).model_dump()) is None
