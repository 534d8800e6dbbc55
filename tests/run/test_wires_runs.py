"""Runs over the three wires against simulated engines: one server, three lanes."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replayer.simulated import SimulatedSpec, launch
from replayer.traces.library import find

TRACE = "fix-failing-test"


def run(tmp_path: Path, *args: str) -> tuple[Path, dict[str, Any]]:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "replayer", "run", "--plain", "--json", "--out", str(out), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return out, json.loads(done.stdout)


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    return [event for event in lines if event["type"] == kind]


def wire_of(event: dict[str, Any]) -> str:
    found = re.search(r"wire=(\w+)", event["session"])
    assert found is not None
    return found[1]


@pytest.mark.parametrize("kind", ["vllm", "sglang", "llamacpp"])
def test_three_wires_render_the_same_prompt_and_get_the_same_calls(kind: str, tmp_path: Path) -> None:
    engine = f"a=simulated,kind={kind}"
    folder, _ = run(tmp_path, "--trace", TRACE, "--engine", engine, "--wire", "all", "--max-turns", "5")
    turns: dict[str, list[Any]] = {}
    for event in events(folder, "turn_finished"):
        calls = [(call["name"], call["arguments"]) for call in event["tool_calls"]]
        turns.setdefault(wire_of(event), []).append(
            (event["usage"]["prompt_tokens"], event["content"], calls)
        )
    assert set(turns) == {"chat", "messages", "responses"}
    assert len(turns["chat"]) == 5
    assert turns["chat"] == turns["messages"] == turns["responses"]
    assert all(event["usable"] for event in events(folder, "verdict"))
    cached = {wire_of(e) for e in events(folder, "turn_finished") if e["usage"]["cached_tokens"] is not None}
    counts_on_messages = {"messages"} if kind == "llamacpp" else set()  # as captured
    assert cached == {"chat", "responses"} | counts_on_messages


FAULTS = [
    ("merged_calls", {"chat", "messages", "responses"}, "arguments_not_json", "parser"),
    ("first_delta_dropped", {"messages", "responses"}, "arguments_not_json", "parser"),
    ("leaked_markup", {"chat", "messages", "responses"}, "leaked_markup", "parser"),
    ("stream_aborted", {"chat", "messages", "responses"}, "engine_error", "engine"),
]


@pytest.mark.parametrize(("fault", "wires", "klass", "blame"), FAULTS)
def test_a_fault_of_a_wire_is_found_on_it(
    fault: str, wires: set[str], klass: str, blame: str, tmp_path: Path
) -> None:
    engine = f"a=simulated,kind=vllm,fault={fault}"
    folder, _ = run(tmp_path, "--trace", TRACE, "--engine", engine, "--wire", "all", "--max-turns", "3")
    found = {
        wire_of(event)
        for event in events(folder, "verdict")
        for f in event["faults"]
        if (f["klass"], f["blame"]) == (klass, blame) and f["fatal"]
    }
    assert found == wires


def test_a_fault_may_be_of_one_wire_only(tmp_path: Path) -> None:
    engine = "a=simulated,kind=vllm,fault=leaked_markup:wire=messages"
    folder, _ = run(tmp_path, "--trace", TRACE, "--engine", engine, "--wire", "all", "--max-turns", "2")
    assert {wire_of(e) for e in events(folder, "verdict") if not e["usable"]} == {"messages"}


@pytest.mark.parametrize("kind", ["vllm", "llamacpp"])
def test_a_live_session_goes_the_same_way_over_every_wire(kind: str, tmp_path: Path) -> None:
    engine = f"a=simulated,kind={kind}"
    folder, _ = run(tmp_path, "--trace", TRACE, "--engine", engine, "--wire", "all", "--mode", "live")
    turns: dict[str, list[Any]] = {}
    for event in events(folder, "turn_finished"):
        assert event["fault"] is None
        turns.setdefault(wire_of(event), []).append([call["name"] for call in event["tool_calls"]])
    assert set(turns) == {"chat", "messages", "responses"} and len(turns["chat"]) > 2
    assert turns["chat"] == turns["messages"] == turns["responses"]


async def _done(*command: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


@pytest.mark.parametrize("wire", ["messages", "responses"])
async def test_a_turn_is_sent_again_over_its_own_wire(wire: str, tmp_path: Path) -> None:
    trace = str(find(TRACE))
    engine = await launch(SimulatedSpec(kind="vllm", trace=(trace,), fault=("leaked_markup",)))
    try:
        out, bug = str(tmp_path / "run"), tmp_path / "bug"
        lane = ["--trace", TRACE, "--engine", f"a={engine.base_url}", "--wire", wire, "--max-turns", "2"]
        code, said = await _done("-m", "replayer", "run", *lane, "--plain", "--out", out)
        assert code in (0, 1), said
        code, said = await _done("-m", "replayer", "repro", out, "1", "a", "-o", str(bug))
        assert code == 0, said
        assert "byte for byte what was sent" in (bug / "README.md").read_text()
        path = {"messages": "/messages", "responses": "/responses"}[wire]
        assert f"/v1}}{path}" in (bug / "curl.sh").read_text()
        code, said = await _done(str(bug / "repro.py"), engine.base_url)
        assert code == 0 and "seen again ['leaked_markup']" in said
        code, said = await _done("-m", "replayer", "report", out, "--rejudge")
        assert code in (0, 1), said
    finally:
        await engine.stop()


@pytest.mark.parametrize("order", [pytest.param("parallel", marks=pytest.mark.slow), "sequential"])
def test_lanes_of_three_wires_are_one_started_server_with_equal_prompts(order: str, tmp_path: Path) -> None:
    engine = "a=simulated,kind=llamacpp,temperature=0,tok_s=20000,slots=3"
    asked = ("--trace", TRACE, "--engine", engine, "--wire", "all", "--order", order, "--max-turns", "3")
    folder, _ = run(tmp_path, *asked)
    assert len({event["base_url"] for event in events(folder, "lane_ready")}) == 1
    assert [path.name for path in (folder / "engines").iterdir()] == ["a.log"]
    turns: dict[int, dict[str, Any]] = {}
    for event in events(folder, "turn_finished"):
        turns.setdefault(event["turn"], {})[wire_of(event)] = event["usage"]
    assert len(turns) == 3 and all(len(found) == 3 for found in turns.values())
    assert all(len({usage["prompt_tokens"] for usage in found.values()}) == 1 for found in turns.values())
    if order == "sequential":  # each lane begins with an empty cache
        cached = [{usage["cached_tokens"] for usage in found.values()} for found in turns.values()]
        assert cached[0] == {0} and all(len(hits) == 1 and min(hits) > 500 for hits in cached[1:])


@pytest.mark.slow
def test_codex_can_go_on_from_stored_responses(tmp_path: Path) -> None:
    """Live: each request holds what is new, the server the rest; the engine sees the whole prompt all the same."""
    live = ("--trace", TRACE, "--mode", "live", "--tools", "recorded", "--max-turns", "4")
    found = {}
    dialects = {"whole": "codex", "stored": "codex:state=on", "plain": "openai-verbatim:state=on"}
    for name, dialect in dialects.items():
        (tmp_path / name).mkdir()
        engine = "a=simulated,tok_s=20000,stored_responses=true,wire=responses"
        folder, _ = run(tmp_path / name, *live, "--dialect", dialect, "--engine", engine)
        finished, started = events(folder, "turn_finished"), events(folder, "turn_started")
        found[name] = [event["usage"]["prompt_tokens"] for event in finished]
        assert [event["body_bytes"] < 5000 for event in started[1:]] == [name != "whole"] * 3
    assert found["stored"] == found["whole"] and len(found["whole"]) == len(found["plain"]) == 4
    folder, report = run(
        tmp_path, *live, "--dialect", "codex:state=on", "--engine", "a=simulated,tok_s=20000"
    )
    assert report["lanes"][0]["faults"] == {"history_rejected": 1}  # nothing is stored there
