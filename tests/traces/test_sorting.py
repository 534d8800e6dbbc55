"""Which requests make up one conversation: logs of requests in, traces and their threads out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replayer.traces.convert import convert
from replayer.traces.reader import Trace
from replayer.traces.summary import Summary
from tests.traces import samples as made

Message = dict[str, Any]
RULES: Message = {"role": "system", "content": "You are an agent."}
TOOLS = [{"type": "function", "function": {"name": "ls", "description": "", "parameters": {}}}]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def reply(text: str, *calls: str) -> Message:
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        functions = [{"name": "ls", "arguments": arguments} for arguments in calls]
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": f} for n, f in enumerate(functions)
        ]
    return message


def _sorted(folder: Path, *asked: tuple[list[Message], Message | None] | dict[str, Any]) -> list[list[str]]:
    """The thread of every turn, trace by trace. Requests follow each other unless a line says when it was sent."""
    lines = []
    for number, entry in enumerate(asked):
        line = entry if isinstance(entry, dict) else {"asked": entry}
        messages, said = line["asked"]
        tools = TOOLS if line.get("tools", True) else None
        times = {"start_time": 1e9 + line.get("at", number), "end_time": 1e9 + line.get("at", number) + 0.9}
        choices = [{"index": 0, "message": said, "finish_reason": line.get("finish", "stop")}]
        response = {"model": "m", "choices": choices} if said else {"error": "busy"}
        request = {"model": "m", "messages": messages} | ({"tools": tools} if tools else {})
        lines.append({"request": request, "response": response, **times})
    source = folder / "log.jsonl"
    source.write_bytes(made.jsonl(lines))
    found = []
    for outcome in convert(source, folder / "out"):
        assert isinstance(outcome, Summary)
        with Trace.open(outcome.trace) as trace:
            found.append([turn.thread for turn in trace.turns])
    return found


FIRST, SECOND = [RULES, user("Fix the parser")], [RULES, user("Write the docs")]
A1, B1 = reply("Let me look.", '{"p": 1}'), reply("Sure, at once.", '{"p": 2}')
GOT: Message = {"role": "tool", "tool_call_id": "c0", "content": "a.py"}


def test_interleaved_conversations_of_one_system_prompt(tmp_path: Path) -> None:
    turns = [(FIRST, A1), (SECOND, B1), ([*FIRST, A1, GOT], B1), ([*SECOND, B1, GOT], A1)]
    assert _sorted(tmp_path, *turns) == [["main"] * 2, ["main"] * 2]


def test_a_request_that_is_sent_again_stays_where_it_was(tmp_path: Path) -> None:
    turns = [(FIRST, None), (FIRST, A1), (FIRST, A1), ([*FIRST, A1, GOT], None), ([*FIRST, A1, GOT], B1)]
    assert _sorted(tmp_path, *turns) == [["main"] * 5]


def test_a_retry_whose_broken_request_ends_late_stays_where_it_was(tmp_path: Path) -> None:
    broken = {"asked": (FIRST, reply("Let me")), "at": 0.0, "finish": "error"}
    retried = {"asked": (FIRST, A1), "at": 0.5}
    assert _sorted(tmp_path, broken, retried, ([*FIRST, A1, GOT], B1)) == [["main"] * 3]


def test_a_rewound_conversation_and_branches_are_one(tmp_path: Path) -> None:
    longer = [*FIRST, A1, GOT, B1]
    turns = [(FIRST, A1), ([*FIRST, A1, GOT], B1), ([*longer, user("No, stop")], A1)]
    edited = [([*longer, user("Yes, go on")], B1), ([*FIRST, A1, {**GOT, "content": "b.py"}], B1)]
    assert _sorted(tmp_path, *turns, *edited) == [["main"] * 5]


def test_the_same_task_given_again_is_another_conversation(tmp_path: Path) -> None:
    run = [(FIRST, A1), ([*FIRST, A1, GOT], B1)]
    other = [(FIRST, B1), ([*FIRST, B1, GOT], A1), ([*FIRST, B1, GOT, A1, GOT], B1)]
    assert _sorted(tmp_path, *run, *other) == [["main"] * 2, ["main"] * 3]


@pytest.mark.parametrize("replies", [(A1, B1), (A1, A1)], ids=["different", "equal"])
def test_the_same_task_at_once_is_told_apart_by_the_replies(
    replies: tuple[Message, Message], tmp_path: Path
) -> None:
    a, b = replies
    first = [{"asked": (FIRST, a), "at": 0.0}, {"asked": (FIRST, b), "at": 0.1}]
    then = [{"asked": ([*FIRST, b, GOT], b), "at": 2.0}, {"asked": ([*FIRST, a, GOT], a), "at": 2.1}]
    assert _sorted(tmp_path, *first, *then) == [["main"] * 2, ["main"] * 2]


def test_clients_that_write_replies_in_their_own_way_are_followed(tmp_path: Path) -> None:
    """Arguments written again, ids of their own, reasoning dropped, content as marked parts."""
    thinking = {**A1, "reasoning_content": "hm"}
    call = {"id": "mine", "type": "function", "function": {"name": "ls", "arguments": '{"p":1}'}}
    rewritten = {"role": "assistant", "content": "Let me look. ", "tool_calls": [call]}
    part = {"type": "text", "text": "Fix the parser", "cache_control": {"type": "ephemeral"}}
    marked = [RULES, {"role": "user", "content": [part]}]
    first = [{"asked": (FIRST, thinking), "at": 0.0}, {"asked": (FIRST, B1), "at": 0.1}]
    then = [{"asked": ([*marked, rewritten, GOT], B1), "at": 2.0}]
    assert _sorted(tmp_path, *first, *then) == [["main", "main"], ["main"]]


def test_a_system_prompt_that_changes_does_not_cut_a_conversation(tmp_path: Path) -> None:
    clock = {"role": "system", "content": "You are an agent. It is noon."}
    assert _sorted(tmp_path, (FIRST, A1), ([clock, *FIRST[1:], A1, GOT], B1)) == [["main", "main"]]
    side = {"asked": ([*FIRST[1:], A1, user("Give this talk a title")], reply("Parser")), "tools": False}
    turns = [(FIRST, A1), side, ([*FIRST, A1, GOT], B1)]
    assert _sorted(tmp_path, *turns) == [["main", "thread-2", "main"]]


def test_a_compaction_goes_on_in_its_conversation(tmp_path: Path) -> None:
    summary = "The parser failed on empty input; parse() now returns None, two tests were added and pass."
    turns = [(FIRST, A1), ([*FIRST, A1, GOT, user("Summarise what was done")], reply(summary))]
    after = [RULES, user(f"This continues an earlier talk. Summary: {summary}"), user("Go on")]
    assert _sorted(tmp_path, *turns, (after, B1), ([*after, B1, GOT], A1)) == [["main"] * 4]
