"""Reproducers: the folder holds what was sent, its script shows the fault again, and histories shrink."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.repro.folder import find_case, write_case
from replayer.repro.shrink import Messages, OutOfBudget, exchanges, shrink
from replayer.simulated import launch
from replayer.simulated.spec import SimulatedSpec
from replayer.tools.verdicts.verdict import FaultClass

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
async def test_a_sound_engine_does_not_show_the_fault(run: Path, tmp_path: Path) -> None:
    made = replayer("repro", run, "7", "bad", "-o", tmp_path / "bug")
    assert made.returncode == 0, made.stderr
    bug = tmp_path / "bug"
    assert {path.name for path in bug.iterdir()} == {
        "request.json", "curl.sh", "repro.py", "reply.json", "verdict.json", "README.md"
    }  # fmt: skip
    async with engine(run, TRACE, kind="sglang", tok_s=100000) as url:
        code, said = await script(bug, url)
    assert code == 1, said
    judged = replayer("judge", bug / "request.json", bug / "again.sse", "--json")
    assert json.loads(judged.stdout)["usable"] is True


@asynccontextmanager
async def engine(run: Path, trace: str, **options: Any) -> AsyncIterator[str]:
    """A simulated engine that plays the run's own copy of the trace."""
    path = next((run / "traces" / trace).glob("trace.jsonl*"))
    server = await launch(SimulatedSpec.from_options(options | {"trace": [str(path)]}))
    try:
        yield server.base_url
    finally:
        await server.stop()


async def script(bug: Path, url: str, few: asyncio.Semaphore | None = None) -> tuple[int | None, str]:
    async with few or asyncio.Semaphore():
        started = await asyncio.create_subprocess_exec(
            sys.executable, str(bug / "repro.py"), url, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await started.communicate()
    return started.returncode, said.decode()


CLASSES = (
    "arguments_not_json", "arguments_not_object", "missing_parameter", "wrong_type", "bad_value", "unknown_tool",
    "unexpected_parameter", "leaked_markup", "call_in_reasoning", "bad_call_id", "bad_call_index", "silent_repair",
    "silent_drop", "truncated", "empty_turn", "finish_contradicts", "protocol", "stream_differs", "collapse",
    "history_rejected", "500", "disconnect", "malformed_sse", "stream_error",
    "swallowed_parameter", "damaged_text",
)  # fmt: skip
"""What an engine can do wrong with any request, each at a turn of its own."""
AT_TURN = [f"{name}:turn={turn + 1}" for turn, name in enumerate(CLASSES)]
ASKED = {"none": ('tool_choice="none"', "choice_ignored"), "json": (
    'tool_choice="none",extra.response_format={"type":"json_object"}', "breaks_schema"
), "one": ("extra.parallel_tool_calls=false", "parallel_ignored"), "endless": (
    'tool_choice="none",extra.response_format={"type":"json_schema","json_schema":{"name":"n","schema":{"$ref":"#"}}}', ""
)}  # fmt: skip
"""Faults that only certain requests can meet: lane -> (what it asks for, the fault, none where it is the request's)."""


def planted(lane: str) -> list[str]:
    return AT_TURN if lane == "any" else [fault for fault in (ASKED[lane][1],) if fault]


@pytest.fixture(scope="module")
def all_faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "run"
    lanes = [
        "--engine",
        "any=simulated,kind=sglang,temperature=0," + ",".join(f"fault={one}" for one in AT_TURN),
    ]
    for name, (asked, fault) in ASKED.items():
        lanes += ["--engine", f"{name}=simulated,kind=sglang,{asked}" + (f",fault={fault}" if fault else "")]
    done = replayer("run", "--trace", TRACE, *lanes, "--max-turns", str(len(CLASSES) + 1), "--differential", "--plain",
                    "--max-lag", "60000", "--out", folder)  # fmt: skip
    assert folder.is_dir(), done.stderr
    return folder


@pytest.mark.slow
async def test_every_kind_of_fault_shows_again(all_faults: Path, tmp_path: Path) -> None:
    """The script exits with 0 only if it sees a fault that the verdict named."""
    shown: set[str] = set()
    for lane in ("any", *ASKED):
        bugs: dict[Path, set[str]] = {}
        for turn in range(1, len(CLASSES) + 2):
            bug = tmp_path / f"{lane}-{turn}"
            write_case(await find_case(all_faults, str(turn), lane), bug)
            classes = {fault["klass"] for fault in json.loads((bug / "verdict.json").read_bytes())["faults"]}
            if classes - shown or (classes and lane == "any"):
                bugs[bug] = classes
                shown |= classes
        async with engine(all_faults, TRACE, kind="sglang", fault=planted(lane)) as url:
            two = asyncio.Semaphore(2)
            for bug, (code, said) in zip(
                bugs, await asyncio.gather(*(script(one, url, two) for one in bugs)), strict=True
            ):
                assert "byte for byte what was sent" in (bug / "README.md").read_text()
                assert code == 0, (bug.name, bugs[bug], said)
    assert shown >= {*get_args(FaultClass)}


@pytest.mark.slow
async def test_the_curl_line_sends_the_same_request(run: Path, tmp_path: Path) -> None:
    write_case(await find_case(run, "7", "bad"), tmp_path / "bug")
    async with engine(run, TRACE, kind="sglang", fault=[FAULT]) as url:
        curl = await asyncio.create_subprocess_exec(
            "sh", str(tmp_path / "bug" / "curl.sh"), url, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await curl.communicate()
    raw = tmp_path / "raw.sse"
    raw.write_bytes(said)
    judged = replayer("judge", tmp_path / "bug" / "request.json", raw, "--json")
    assert [fault["class"] for fault in json.loads(judged.stdout)["faults"]] == ["unknown_tool"]


@pytest.mark.slow
def test_a_live_run_is_rebuilt_from_what_was_sent(tmp_path: Path) -> None:
    done = replayer("run", "--trace", "fix-failing-test", "--engine", "a=simulated,fault=unknown_tool:turn=4", "--mode",
                    "live", "--tools", "recorded", "--out", tmp_path / "run", "--plain", "--max-lag", "60000")  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = replayer("repro", tmp_path / "run", "5", "a", "-o", tmp_path / "bug")
    assert made.returncode == 0, made.stderr
    assert "byte for byte what was sent" in (tmp_path / "bug" / "README.md").read_text()
    sent = json.loads((tmp_path / "bug" / "request.json").read_bytes())["messages"]
    assert [message["role"] for message in sent[-2:]] == ["assistant", "tool"]


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
    for turn, lane, words in (
        ("7", "good", "not a lane of this run"),
        ("999", "bad", "no answer to turn 999"),
        ("x/7", "bad", "'x' is not a trace of this run"),
        ("0", "bad", "counted from 1"),
    ):
        made = replayer("repro", run, turn, lane, "-o", tmp_path / "no")
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
