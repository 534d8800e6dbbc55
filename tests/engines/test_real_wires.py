"""The embedded llama.cpp over three wires, all turns of whole sessions (opt-in: `pytest -m real`; minutes of CPU)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from replayer.engines.embedded import llama_server
from replayer.requests.history import RecordedHistory
from replayer.traces.library import find
from replayer.traces.reader import Trace
from replayer.wire.types import WIRES, JsonObject, Wire

pytestmark = pytest.mark.real

PATHS: dict[Wire, str] = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}
COUNTS: dict[Wire, Callable[[JsonObject], tuple[int, int]]] = {
    "chat": lambda u: (u["prompt_tokens"], u["prompt_tokens_details"]["cached_tokens"]),
    "messages": lambda u: (u["input_tokens"] + u["cache_read_input_tokens"], u["cache_read_input_tokens"]),
    "responses": lambda u: (u["input_tokens"], u["input_tokens_details"]["cached_tokens"]),
}
"""Prompt tokens and cached ones, by each wire's own convention."""


@pytest.mark.parametrize(("trace", "turns", "fitting"), [("fix-failing-test", 8, 8), ("tools-stress", 17, 9)])
async def test_every_turn_has_one_prompt_and_one_answer_on_three_wires(
    trace: str, turns: int, fitting: int, tmp_path: Path
) -> None:
    """The model knows 8,192 tokens of context: longer prompts are counted by the server's refusal."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        traces = ["{trace}"]
        order = "sequential"
        max_tokens = 16
        wire = "all"
        [[lane]]
        name = "a"
        launch = "embedded"
        on_collapse = "observe"
        sampling = {{ temperature = 0 }}
        [limits]
        lag_ms = 60000
        """
    )
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "replayer", "run", str(plan), "--out", str(folder), "--plain"]
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() in (0, 1)
    found: dict[int, dict[str, Any]] = {}
    for event in map(json.loads, (folder / "journal.jsonl").read_text().splitlines()):
        if event["type"] == "turn_finished":
            wire = event["session"].partition("wire=")[2].partition("/")[0]
            found.setdefault(event["turn"], {})[wire] = _answered(event, wire)
    assert len(found) == turns and all(set(wires) == set(WIRES) for wires in found.values())
    for turn, wires in found.items():
        assert wires["chat"] == wires["messages"] == wires["responses"], turn
        assert (wires["chat"][1] is not None) == (turn < fitting)
        assert turn >= fitting or (wires["chat"][1] > 0) == (turn > 0)


def _answered(event: JsonObject, wire: Wire) -> tuple[Any, ...]:
    """Prompt tokens, cached ones, text and calls; of a refusal the prompt tokens alone."""
    if event["fault"] is not None:
        return json.loads(event["fault"]["body"])["error"]["n_prompt_tokens"], None
    counts = COUNTS[wire](event["usage"]["raw"])
    assert counts == (event["usage"]["prompt_tokens"], event["usage"]["cached_tokens"])
    calls = [(call["name"], call["arguments"]) for call in event["tool_calls"]]
    return *counts, event["content"], calls


async def test_asked_twice_each_wire_says_what_was_cached_in_its_own_way() -> None:
    server = await llama_server.launch({"ctx": 2048})
    try:
        with Trace.open(find("fix-failing-test")) as trace:
            async with httpx.AsyncClient(timeout=300) as client:
                for wire, path in PATHS.items():
                    history = RecordedHistory(trace, wire=wire)
                    limit = {"max_output_tokens" if wire == "responses" else "max_tokens": 1}
                    asked = history.request(history.turns[0], {"model": "m", "temperature": 0}, stream=False)
                    body = {**json.loads(b"".join(asked.body)), **limit}
                    usages = [(await client.post(server.base_url + path, json=body)).json() for _ in range(2)]
                    first, second = (COUNTS[wire](answer["usage"]) for answer in usages)
                    assert first[0] == second[0] == 936 and second[1] == 935
                    # the cache is one for all wires: only the very first request finds nothing
                    assert first[1] == (0 if wire == "chat" else 935)
    finally:
        await server.stop()
