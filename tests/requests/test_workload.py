"""Generated sessions: equal settings give equal traces, and prompts have the length that was asked for."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.errors import PlanError
from replayer.plan.load import make_plan
from replayer.requests.generated import generated
from replayer.requests.history import RecordedHistory
from replayer.requests.lengths import Length, fit
from replayer.requests.workload import Workload
from replayer.traces.reader import Trace

LANE = {"name": "a", "launch": "simulated"}


def prompts(workload: Workload, seed: int = 0) -> list[list[str]]:
    """The text of every prompt by session."""
    with generated([workload], seed) as paths:
        return [
            [history.messages(turn)[0]["content"] for turn in history.turns]
            for path in paths.values()
            for history in [RecordedHistory(Trace.open(path))]
        ]


def test_equal_settings_give_equal_prompts_and_sessions_share_nothing() -> None:
    chat = Workload(name="chat", sessions=2, requests=3, input_tokens=100, output_tokens=10)
    first, again, other = prompts(chat), prompts(chat), prompts(chat, seed=1)
    assert first == again != other
    whole = [prompt for session in first for prompt in session]
    assert len({prompt[:80] for prompt in whole}) == 6
    assert {len(prompt.split()) for prompt in whole} == {100}


def test_a_shared_prefix_is_shared_within_a_session_only() -> None:
    made = prompts(
        Workload(name="x", sessions=2, requests=2, input_tokens=160, output_tokens=1, shared_prefix=0.6)
    )
    (a, b), (c, _) = [[prompt.split() for prompt in session] for session in made]
    assert a[:96] == b[:96]
    assert a[96:112] != b[96:112]
    assert a[:16] != c[:16]


def test_a_marker_makes_another_prompt_of_the_same_length() -> None:
    workload = Workload(name="x", input_tokens=64, output_tokens=1)
    with generated([workload], 0) as paths:
        history = RecordedHistory(Trace.open(paths["x-000"]))
        plain, one, other = (
            history.messages(0, marker=marker)[0]["content"].split() for marker in (None, "one", "other")
        )
    assert len(plain) == len(one) == len(other) == 64
    assert plain[:16] != one[:16] != other[:16]
    assert plain[16:] == one[16:] == other[16:]


def test_the_traces_of_a_workload_are_traces_of_the_plan() -> None:
    workload = {"name": "chat", "sessions": 2, "input_tokens": 64, "output_tokens": 8}
    plan = make_plan({"traces": ["t"], "workload": [workload], "lane": [LANE]})
    assert plan.traces == ("t", "chat-000", "chat-001")


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"sesions": 2}, "unknown key 'workload.0.sesions'; did you mean 'sessions'?"),
        ({"input_tokens": 3}, "workload.0.input_tokens: input should be greater than or equal to 16"),
        ({"name": "a/b"}, "workload.0.name"),
    ],
)
def test_a_wrong_workload_is_named_in_one_sentence(workload: dict[str, Any], message: str) -> None:
    whole = {"name": "chat", "input_tokens": 64, "output_tokens": 8, **workload}
    with pytest.raises(PlanError) as caught:
        make_plan({"workload": [whole], "lane": [LANE]}, "plan.toml")
    assert message in str(caught.value)


@settings(max_examples=60)
@given(
    wanted=st.integers(64, 9_000),
    overhead=st.integers(0, 40),
    per_word=st.floats(0.8, 2.6),
    per_pad=st.sampled_from([0.5, 1.0]),
)
async def test_prompts_are_fitted_to_the_token(
    wanted: int, overhead: int, per_word: float, per_pad: float
) -> None:
    """Whatever a word costs, as long as a pad costs a token at most."""

    async def count(length: Length) -> int:
        return overhead + int(length.words * per_word + length.pads * per_pad)

    length = await fit(count, wanted, Length(wanted))
    assert length is not None
    assert await count(length) == wanted


async def test_without_a_tokenizer_nothing_is_fitted() -> None:
    async def count(length: Length) -> None:
        return None

    assert await fit(count, 100, Length(100)) is None


def test_a_generated_trace_is_a_valid_trace(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["a"]}
    structured = Workload(name="j", requests=2, input_tokens=32, output_tokens=8, response_schema=schema)
    with generated([structured], 0) as paths:
        trace = Trace.open(paths["j-000"])
        assert len(trace.turns) == 2
        assert trace.turns[0].params["response_format"]["json_schema"]["schema"] == schema
