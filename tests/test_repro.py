"""Reproducers: the folder holds what was sent, its script shows the fault again, and histories shrink."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.engines.simulated import launch
from replayer.engines.simulated.spec import SimulatedSpec
from replayer.shrink import Messages, OutOfBudget, exchanges, shrink

TRACE = "django-reservations"
FAULT = "unknown_tool@1"


def replayer(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "replayer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repro") / "run"
    engine = f"bad=simulated,kind=sglang,tok_s=100000,fault={FAULT}"
    done = replayer("run", "--trace", TRACE, "--engine", engine, "--max-turns", "42", "--plain", "--max-lag", "60000",
                    "--out", folder)  # fmt: skip
    assert folder.is_dir(), done.stderr
    return folder


@pytest.mark.slow
async def test_the_script_shows_the_planted_fault_again_and_not_on_a_sound_engine(
    run: Path, tmp_path: Path
) -> None:
    made = replayer("repro", run, "7", "bad", "-o", tmp_path / "bug")
    assert made.returncode == 0, made.stderr
    bug = tmp_path / "bug"
    assert {path.name for path in bug.iterdir()} == {
        "request.json", "curl.sh", "repro.py", "reply.json", "verdict.json", "README.md"
    }  # fmt: skip
    assert "as long as what was sent" in (bug / "README.md").read_text()
    trace = next((run / "traces" / TRACE).glob("trace.jsonl*"))
    for fault, code in (([FAULT], 0), ([], 1)):
        options = {"trace": [str(trace)], "kind": "sglang", "tok_s": 100000, "fault": fault}
        server = await launch(SimulatedSpec.from_options(options), tmp_path / "log")
        try:
            script = await asyncio.create_subprocess_exec(
                sys.executable, str(bug / "repro.py"), server.base_url, stdout=asyncio.subprocess.PIPE
            )
            said, _ = await script.communicate()
        finally:
            await server.stop()
        assert script.returncode == code, said
    judged = replayer("judge", bug / "request.json", bug / "again.sse", "--json")
    assert json.loads(judged.stdout)["usable"] is True


@pytest.mark.slow
def test_shrinking_removes_at_least_half_of_a_long_history(run: Path, tmp_path: Path) -> None:
    made = replayer("repro", run, "40", "bad", "-o", tmp_path / "bug", "--shrink")
    assert made.returncode == 0, made.stderr
    full = json.loads((tmp_path / "bug" / "request-full.json").read_bytes())
    small = json.loads((tmp_path / "bug" / "request.json").read_bytes())
    assert len(small["messages"]) * 2 <= len(full["messages"])
    assert small["messages"][-1] == full["messages"][-1]
    assert {key: value for key, value in small.items() if key != "messages"} == {
        key: value for key, value in full.items() if key != "messages"
    }


@pytest.mark.slow
def test_what_the_run_does_not_hold_is_named(run: Path, tmp_path: Path) -> None:
    for step, lane, words in (
        ("7", "good", "no lane of this run"),
        ("999", "bad", "no answer to step 999"),
        ("x/7", "bad", "'x' is no trace of this run"),
        ("0", "bad", "counted from 1"),
    ):
        made = replayer("repro", run, step, lane, "-o", tmp_path / "no")
        assert (made.returncode, words in made.stderr) == (2, True), made.stderr
        assert not (tmp_path / "no").exists()


def history(turns: int) -> Messages:
    messages: Messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    for turn in range(turns):
        messages.append({"role": "assistant", "content": str(turn), "tool_calls": [{"id": str(turn)}]})
        messages.append({"role": "tool", "tool_call_id": str(turn), "content": str(turn)})
    return messages


@settings(max_examples=40, deadline=None)
@given(turns=st.integers(2, 40), culprits=st.sets(st.integers(0, 39), max_size=3), budget=st.integers(0, 400))
def test_a_shrunk_history_still_shows_the_fault_and_keeps_calls_with_results(
    turns: int, culprits: set[int], budget: int
) -> None:
    needed = {str(turn) for turn in culprits if turn < turns}
    left = [budget]

    async def shows(messages: Messages) -> bool:
        if left[0] == 0:
            raise OutOfBudget
        left[0] -= 1
        return needed <= {message["content"] for message in messages if message["role"] == "tool"}

    full = history(turns)
    small = asyncio.run(shrink(full, shows))
    left[0] = 1
    assert asyncio.run(_call(shows, small))
    assert small[0] == full[0]
    assert small[-2:] == full[-2:]
    calls = [message["tool_calls"][0]["id"] for message in small if message["role"] == "assistant"]
    assert calls == [message["tool_call_id"] for message in small if message["role"] == "tool"]
    if budget == 400:
        assert len(calls) == len(needed | {str(turns - 1)})


async def _call(shows: Any, messages: Messages) -> bool:
    found: bool = await shows(messages)
    return found


def test_head_and_last_exchange_stay() -> None:
    head, middle, tail = exchanges(history(3))
    assert [message["role"] for message in head] == ["system"]
    assert [group[0]["role"] for group in middle] == ["user", "assistant", "assistant"]
    assert [message["role"] for message in tail] == ["assistant", "tool"]
