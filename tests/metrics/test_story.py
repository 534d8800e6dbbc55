"""The story of a run: a headline and the reader's questions, from journals as a run writes them."""

from pathlib import Path
from typing import Any

from replayer.journal.events import (
    Alarm,
    LaneReady,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
)
from replayer.journal.log import JournalWriter
from replayer.journal.packing import pack
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.metrics.run_documents import Story

UNKNOWN = {
    "klass": "unknown_tool",
    "blame": "model",
    "message": "m",
    "fatal": True,
    "call_index": 0,
    "path": "",
}
LEAKED = {**UNKNOWN, "klass": "leaked_markup", "blame": "parser"}


def story(folder: Path, lanes: dict[str, dict[str, Any]], sessions: int, turns: int = 4) -> Story:
    """`lanes`: by name what differs: `faults` of every turn, `collapse`, `late` in nanoseconds, `cached` tokens."""
    folder.mkdir()
    writer = JournalWriter(folder)
    traces = [f"t{number}" for number in range(sessions)]
    plan = {
        "traces": traces,
        "lane": [{"name": name} for name in lanes],
        "mode": "recorded",
        "tools": "recorded",
    }
    writer.append(
        RunStarted(
            run_id="r", wall=0, version="1", plan=plan | {"repeat": 1}, turns=dict.fromkeys(traces, turns)
        )
    )
    for name, how in lanes.items():
        writer.append(LaneReady(lane=name, kind="vllm", model="m", base_url="", facts={}, settings={}))
        for trace in traces:
            session(writer, name, trace, turns, how)
    writer.append(RunFinished(exit_code=0))
    writer.close()
    return run_figures(load(folder)).conclusions.story


def session(writer: JournalWriter, lane: str, trace: str, turns: int, how: dict[str, Any]) -> None:
    key = {"session": f"{lane}/{trace}/0", "attempt": 1}
    writer.append(
        SessionStarted(**key, lane=lane, trace=trace, repeat=0, turns=turns, mode="recorded", tools="recorded",
                       cache_reset="yes")
    )  # fmt: skip
    for turn in range(turns):
        where = {**key, "turn": turn}
        writer.append(TurnStarted(**where, recorded_turn=turn, body_bytes=1, wall=float(turn)))
        if how.get("collapse") == turn:
            finding = {"kind": "cycle", "level": "collapsed", "channel": "content", "call_index": -1, "onset": 212,
                       "detected_at": 300, "period": 7, "unit": "(Sigh) ", "wasted_chars": 9, "confidence": 1.0, "note": None}  # fmt: skip
            writer.append(Alarm(**where, signal="repetition", version=1, finding=finding, stopped=False))
        usage = {"prompt_tokens": 1000, "cached_tokens": how.get("cached", 900), "completion_tokens": 40}
        writer.append(
            TurnFinished(**where, content="x", reasoning="", tool_calls=[], finish_reason="stop", usage=usage,
                         usage_source="usage", done=True, fault=None, retries=0, headers_ns=1, ttft_ns=2_000_000,
                         total_ns=50_000_000, arrivals=pack([2_000_000, 9_000_000, 20_000_000]), deltas=3,
                         lag_ns=how.get("late", 0))
        )  # fmt: skip
        faults = how.get("faults", ())
        writer.append(VerdictGiven(**where, usable=not faults, faults=list(faults)))
    writer.append(SessionFinished(**key, outcome="done"))


def answers(found: Story) -> dict[str, str]:
    return {answer.key: answer.words for answer in found.answers}


def test_a_decided_difference_is_the_headline(tmp_path: Path) -> None:
    found = story(tmp_path / "run", {"a": {}, "b": {"faults": [UNKNOWN]}}, sessions=8)
    said = answers(found)
    assert found.headline.startswith("a is better than b in usable turns: 100.0% against 0.0%.")
    assert said["real"].startswith("Yes: ") and "over 8 sessions, p (adjusted) 0.0" in said["real"]
    assert said["broke"] == "a: nothing; b: unknown_tool in 32 turns."
    assert said["blame"] == "b: model in 32 turns. These turns are not usable."
    assert said["sessions"] == "None: 8 sessions decided it."
    first, second = found.standings
    assert (first.lane, first.rank, second.lane, second.rank) == ("a", 1, "b", 2)
    assert (second.against, second.difference, second.decided) == ("a", -1.0, True)


def test_the_effect_is_against_the_first_lane_whatever_the_order_of_the_plan(tmp_path: Path) -> None:
    found = story(tmp_path / "run", {"bad": {"faults": [UNKNOWN]}, "good": {}}, sessions=8)
    assert [one.lane for one in found.standings] == ["good", "bad"]
    assert found.standings[1].difference == -1.0
    low, high = found.standings[1].difference_low, found.standings[1].difference_high
    assert low is None or high is None or low <= high <= 0


def test_few_sessions_decide_nothing_and_say_how_many_are_missing(tmp_path: Path) -> None:
    found = story(tmp_path / "run", {"a": {}, "b": {"faults": [LEAKED]}}, sessions=2)
    said = answers(found)
    assert found.headline == "Not decided: 2 sessions of at least 6. Usable turns: a 100.0%, b 0.0%."
    assert said["real"] == "Unknown: 2 sessions; nothing is decided below 6."
    assert said["sessions"].startswith("4 at least")
    assert said["broke"] == "a: nothing; b: tool call left in text in 8 turns."
    assert said["next"].startswith("Check the tool-call parser of b")
    assert {one.rank for one in found.standings} == {1}


def test_a_collapse_names_its_place(tmp_path: Path) -> None:
    found = story(tmp_path / "run", {"a": {}, "b": {"collapse": 2}}, sessions=2)
    assert answers(found)["collapse"] == "b: 2 turns, first in turn 3 of t0, from character 212 on."
    assert "collapse" not in answers(story(tmp_path / "sound", {"a": {}}, sessions=1))


def test_one_lane_has_a_headline_and_no_comparison(tmp_path: Path) -> None:
    found = story(tmp_path / "run", {"only": {"collapse": 1}}, sessions=1)
    assert found.headline == "only: 4 of 4 turns were usable; 1 repeated itself."
    assert not answers(found).keys() & {"better", "real", "sessions"}


def test_times_are_not_trusted_where_this_machine_was_late(tmp_path: Path) -> None:
    late = answers(story(tmp_path / "late", {"a": {"late": 6_000_000}}, sessions=1))["times"]
    calm = answers(story(tmp_path / "calm", {"a": {}}, sessions=1))["times"]
    assert late.startswith("No: this machine was too busy in 4 of 4 turns")
    assert calm.startswith("Yes: ") and "0 of 4 turns" in calm


def test_every_lane_of_many_is_counted_once(tmp_path: Path) -> None:
    lanes: dict[str, dict[str, Any]] = {f"l{number}": {} for number in range(5)} | {
        "bad": {"faults": [UNKNOWN]}
    }
    found = story(tmp_path / "run", lanes, sessions=1)
    assert answers(found)["broke"] == "In 1 of 6 lanes: unknown_tool in 4 turns."
    document = run_figures(load(tmp_path / "run"))
    sentences = document.conclusions.sentences()
    assert "5 of 6 lanes answered 20 turns, every one of them usable: no fault was found." in sentences
    assert sum("answered" in sentence for sentence in sentences) == 2
