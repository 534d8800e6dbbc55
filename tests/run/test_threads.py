"""Sessions with subagents, and traces whose threads are independent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main
from replayer.journal.events import RunStarted, SessionStarted, ToolRunFinished, TurnFinished, TurnStarted
from replayer.journal.log import read
from replayer.traces.reader import Trace
from replayer.traces.trees import Line, trees
from tests.run.trees import TURNS, write_tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "team.trace.jsonl")


def run(out: Path, *arguments: str | Path) -> list[Any]:
    words = ["run", "--plain", "--json", "--max-lag", "60000", "--out", str(out), *map(str, arguments)]
    assert main(words) == 0
    return list(read(out))


def lanes(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["report", str(folder), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["lanes"]
    return found


def test_a_tree_knows_who_started_whom_and_who_waited(tree: Path) -> None:
    [found] = trees(Trace.open(tree))
    assert found.lines == (
        Line("main", (0, 3, 5)),
        Line("waited", (1,), after=0, joined=3),
        Line("unwaited", (2, 4), after=0, joined=None),
    )
    assert found.turns == (0, 1, 2, 3, 4, 5)


def test_a_tree_knows_which_turn_was_notified_of_a_subagent_that_outlived_the_one_that_called_it(
    tmp_path: Path,
) -> None:
    notice = "<task-notification><tool-use-id>call_1</tool-use-id></task-notification>"
    [found] = trees(Trace.open(write_tree(tmp_path / "told.trace.jsonl", late=notice)))
    assert found.lines[2] == Line("unwaited", (2, 4), after=0, joined=6)


def test_every_turn_of_every_thread_is_sent_in_an_order_that_could_have_been(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = run(tmp_path / "run", "--trace", tree, "--engine", "a=simulated")
    started = {e.recorded_turn: e for e in events if isinstance(e, TurnStarted)}
    finished = {e.turn: e for e in events if isinstance(e, TurnFinished)}
    assert sorted(started) == sorted(finished) == list(range(len(TURNS)))
    assert [started[n].turn for n in range(len(TURNS))] == list(range(len(TURNS)))
    for child in (1, 2):
        assert started[child].at >= finished[0].at, "a subagent starts after the turn that called it"
    assert started[3].at >= finished[1].at, "its parent waits for it where the recording did"
    [lane] = lanes(tmp_path / "run", capsys)
    assert (lane["sessions"], lane["turns"]) == (1, len(TURNS))


def test_how_many_turns_are_sent_is_said_before_anything_is(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = run(tmp_path / "run", "--trace", tree, "--engine", "a=simulated", "--max-turns", "4")
    [opening] = [event for event in events if isinstance(event, RunStarted)]
    assert opening.coverage == [
        "team: sends 4 of 6 recorded turns (--max-turns 4 leaves out 2), 2 subagents replayed beside the main thread"
    ]
    assert opening.coverage[0] in capsys.readouterr().err
    assert sum(isinstance(event, TurnFinished) for event in events) == 4


def moon(path: Path, requests: int) -> Path:
    lines = [
        {
            "timestamp": 40 * number,
            "input_length": 4 * 512 + 100,
            "output_length": 8,
            "hash_ids": [0, 1, 2, 100 + number, 200 + number],
        }
        for number in range(requests)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_independent_requests_are_sessions_of_their_own_that_share_what_they_shared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(moon(tmp_path / "moon.jsonl", 20)), "-o", str(tmp_path)]) == 0
    events = run(tmp_path / "run", "--trace", tmp_path / "moon.trace.jsonl", "--engine", "a=simulated")
    sessions = [event for event in events if isinstance(event, SessionStarted)]
    assert [one.trace for one in sessions] == [f"moon#{number}" for number in range(1, 21)]
    [lane] = lanes(tmp_path / "run", capsys)
    assert (lane["sessions"], lane["turns"]) == (20, 20)
    usage = [event.usage for event in events if isinstance(event, TurnFinished)]
    assert usage[0]["cached_tokens"] == 0
    shares = [one["cached_tokens"] / one["prompt_tokens"] for one in usage[1:]]
    by_hand = 3 * 512 / (4 * 512 + 100)
    assert all(abs(share - by_hand) < 0.02 for share in shares), "all but the first find three blocks of 512"


@pytest.mark.slow
def test_the_shipped_session_with_a_subagent_is_replayed_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "run", "--trace", "long-context-refactor", "--engine", "a=simulated,tok_s=20000")
    [lane] = lanes(tmp_path / "run", capsys)
    assert (lane["sessions"], lane["turns"]) == (1, 30)


def test_live_a_subagent_is_replayed_where_its_call_comes_as_recorded(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--mode", "live", "--engine", "a=simulated")
    events = run(tmp_path / "run", "--trace", tree, *flags)
    started = {e.recorded_turn: e for e in events if isinstance(e, TurnStarted)}
    finished = {e.turn: e for e in events if isinstance(e, TurnFinished)}
    assert {1, 2, 4} <= started.keys() and len(finished) == len(set(finished)), (
        "both subagents went on the wire"
    )
    after = next(e for e in events if isinstance(e, TurnStarted) and e.recorded_turn == 3)
    assert after.at >= finished[started[1].turn].at, (
        "the conversation waits for the one that the recording waited for"
    )
    for turn in (started[1].turn, started[2].turn, after.turn):
        folder = tmp_path / f"repro{turn}"
        assert main(["repro", str(tmp_path / "run"), str(turn + 1), "a", "-o", str(folder)]) == 0
        assert "byte for byte what was sent" in (folder / "README.md").read_text()

    wrong = ("--engine", "a=simulated,fault=unexpected_parameter:turn=0")
    events = run(tmp_path / "other", "--trace", tree, "--mode", "live", *wrong)
    sent = [e.recorded_turn for e in events if isinstance(e, TurnStarted)]
    outputs = [e.output for e in events if isinstance(e, ToolRunFinished)]
    assert (1 in sent) + (2 in sent) == 1, (
        "one call is another now: the recorded thread's result only answers it"
    )
    assert "waited is done" in outputs
