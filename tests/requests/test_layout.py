"""Requests worked out from the turn before equal those that are worked out alone, whatever turns do to their context."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

from replayer.requests.history import RecordedHistory
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    CompactionItem,
    Fidelity,
    Header,
    OpaqueItem,
    ReasoningItem,
    Source,
    SystemItem,
    ToolCallItem,
    ToolResultItem,
    UserItem,
)
from replayer.traces.writer import TraceWriter
from replayer.wire.types import WIRES

DIALECTS = ("openai-verbatim", "zed", "claude-code", "codex")


MODEL = ("call", "call", "say", "think", "opaque")
ANY = (*MODEL, "result", "result", "result", "ask", "system", "summary")


def item(draw: random.Random, number: int, calls: list[str], kinds: tuple[str, ...] = ANY) -> AnyItem:
    kind = draw.choice(kinds)
    if kind == "result" and calls:
        return ToolResultItem(id=0, call_id=draw.choice(calls), content=f"result {number}")
    if kind == "call":
        calls.append(f"c{number}")
        return ToolCallItem(id=0, call_id=calls[-1], name="ls", arguments="{}")
    if kind == "think":
        return ReasoningItem(id=0, text=f"thought {number}")
    if kind == "ask":
        return UserItem(id=0, content=f"question {number}")
    if kind == "system":
        return SystemItem(id=0, text=f"rule {number}")
    if kind == "opaque":
        return OpaqueItem(id=0, record={"n": number})
    if kind == "summary":
        return CompactionItem(id=0, text=f"summary {number}")
    return AssistantItem(id=0, text=f"text {number}")


def wandering(path: Path, seed: int) -> Path:
    """A thread whose contexts grow, go back, lose items in the middle, and begin anew."""
    draw = random.Random(seed)
    calls: list[str] = []
    header = Header(trace_id="t", source=Source(format="test"), fidelity=Fidelity())
    with TraceWriter(path, header) as writer:
        known = [
            writer.add_item(SystemItem(id=0, text="Be brief.")),
            writer.add_item(UserItem(id=0, content="Go.")),
        ]
        context = list(known)
        for number in range(30):
            produced = [
                writer.add_item(item(draw, 100 * number + n, calls, MODEL)) for n in range(draw.randint(1, 3))
            ]
            writer.add_turn(context=context, produced=produced)
            known += produced
            context = [*context, *produced]
            context += [
                writer.add_item(item(draw, 100 * number + 50 + n, calls)) for n in range(draw.randint(0, 3))
            ]
            if draw.random() < 0.2:
                context = context[: draw.randint(1, len(context))]
            if draw.random() < 0.1 and len(context) > 3:
                del context[draw.randrange(1, len(context) - 1)]
            if draw.random() < 0.05:
                context = [known[0], *context[len(context) // 2 :]]
    return path


@pytest.mark.parametrize("seed", range(5))
def test_a_turn_is_the_same_after_any_other(tmp_path: Path, seed: int) -> None:
    path = wandering(tmp_path / "t.trace.jsonl", seed)
    orders = [lambda turns: turns, lambda turns: random.Random(seed).sample(turns, len(turns))]
    for (name, wire), order in product(product(DIALECTS, WIRES), orders):
        if wire != "chat" and name != "openai-verbatim":
            continue
        shared = RecordedHistory(Trace.open(path), name, wire=wire)
        for turn in order(list(shared.turns)):
            alone = RecordedHistory(Trace.open(path), name, wire=wire)
            ours, theirs = (
                b"".join(map(bytes, history.request(turn, {"model": "m"}, marker="[M]").body))
                for history in (shared, alone)
            )
            assert ours == theirs, (name, wire, turn)
