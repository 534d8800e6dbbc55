"""Neighbouring versions of Claude Code: what real files of older and newer ones hold that the samples do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.requests.history import RecordedHistory
from replayer.traces.schema import ToolCallItem
from replayer.traces.trees import trees
from tests.traces import samples as made
from tests.traces.imported import contexts, trace_of


def _sidechain(uuid: str, parent: str | None, message: str | None, content: Any) -> dict[str, Any]:
    more = {"isSidechain": True}
    if message is None:
        return made.claude_user(uuid, parent, 5, content, **more)
    return made.claude_block(uuid, parent, 5, message, content, **more)


def test_claude_1_writes_parallel_subagents_into_the_session_without_ids(tmp_path: Path) -> None:
    def task(call: str, prompt: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": call, "name": "Task", "input": {"prompt": prompt}}

    def text(value: str) -> dict[str, Any]:
        return {"type": "text", "text": value}

    records = [
        made.claude_user("u1", None, 0, "Tidy up"),
        made.claude_block("a1", "u1", 1, "m1", task("t1", "Look left")),
        made.claude_block("a2", "a1", 1, "m1", task("t2", "Look right")),
        _sidechain("s1", None, None, "Look left"),
        _sidechain("r1", None, None, "Look right"),
        _sidechain("s2", "s1", "m2", made.claude_call("c1")),
        _sidechain("r2", "r1", "m3", made.claude_call("c2")),
        _sidechain("s3", "s2", None, made.claude_result("c1", "left")),
        _sidechain("r3", "r2", None, made.claude_result("c2", "right")),
        _sidechain("s4", "s3", "m4", text("Left is fine")),
        _sidechain("r4", "r3", "m5", text("Right is fine")),
        made.claude_user("u2", "a2", 9, [*made.claude_result("t1", "ok"), *made.claude_result("t2", "ok")]),
        made.claude_block("a3", "u2", 9, "m6", text("Done")),
    ]
    with trace_of(tmp_path, "session.jsonl", made.jsonl(records)) as trace:
        by_thread = {turn.thread: contexts(trace)[turn.id] for turn in trace.turns}
        assert by_thread["main"] == ["user Tidy up", "call t1", "call t2", "result t1", "result t2"]
        assert by_thread["sidechain"] == ["user Look left", "call c1", "result c1"]
        assert by_thread["sidechain-2"] == ["user Look right", "call c2", "result c2"]
        starters = [
            trace.item(thread.parent_call) for thread in trace.threads if thread.parent_call is not None
        ]
        assert [item.call_id for item in starters if isinstance(item, ToolCallItem)] == ["t1", "t2"]


def test_claude_of_late_2026_writes_system_prompt_tools_and_what_it_attached(tmp_path: Path) -> None:
    def beside(uuid: str, parent: str, kind: str, **more: Any) -> dict[str, Any]:
        line = {**made.claude_user(uuid, parent, 1, ""), "type": "attachment", "attachment": {"type": kind}}
        return {**line, **more}

    tool = {"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}
    records = [
        made.claude_user("u1", None, 0, "Tidy up"),
        beside("p1", "u1", "date", rendered=[{"content": "Today is a day."}], renderedRole="system"),
        beside("p2", "p1", "context", rendered=[{"content": "On branch main."}]),
        beside("p3", "p2", "prompt_snapshot"),
        beside("p4", "p3", "skill_listing"),
        {"type": "api-request-shape", "shape": {"system": [{"text": "Be Claude."}], "tools": [tool]}},
        {"type": "api-request", "id": "q1", "keep": 0, "tail": ["h1"]},
        made.claude_block("a1", "p4", 2, "m1", {"type": "text", "text": "Done"}),
    ]
    with trace_of(tmp_path, "session.jsonl", made.jsonl(records)) as trace:
        assert contexts(trace) == [
            ["system Be Claude.", "user Tidy up", "system Today is a day.", "user On branch main."]
        ]
        assert RecordedHistory(trace).tools(0)[0]["function"]["parameters"] == {"type": "object"}
        assert (trace.header.fidelity.system, trace.header.fidelity.tools) == ("recorded", "recorded")
        warnings = " ".join(trace.header.meta["warnings"])
        assert "not in the source: 1" in warnings and "neither system prompt" not in warnings


def test_claude_sessions_may_begin_with_many_summaries(tmp_path: Path) -> None:
    summaries = [{"type": "summary", "summary": f"Earlier {n}", "leafUuid": f"l{n}"} for n in range(80)]
    with trace_of(tmp_path, "s.jsonl", made.jsonl([*summaries, *made.claude_session()])) as trace:
        assert len(trace.turns) == 5


@pytest.mark.parametrize("layout", ["one file", "a file for each agent"])
def test_claude_2_subagents_that_start_others_and_that_are_resumed(tmp_path: Path, layout: str) -> None:
    """Two at a time, one of them with a subagent of its own, and resumed later: who starts after what, who waits."""

    def task(call: str, prompt: str) -> dict[str, Any]:
        return made.claude_call(call, "Task") | {"input": {"prompt": prompt}}

    def said(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    def done(call: str, agent: str) -> dict[str, Any]:
        return {"content": made.claude_result(call, "done"), "toolUseResult": {"agentId": agent}}

    def side(agent: str) -> dict[str, Any]:
        return {"isSidechain": True, "agentId": agent}

    lines = [
        made.claude_user("u1", None, 0, "Go"),
        made.claude_block("m1a", "u1", 1, "m1", task("A", "do A")),
        made.claude_block("m1b", "m1a", 1, "m1", task("B", "do B")),
        made.claude_user("b1", None, 2, "do B", **side("bb")),
        made.claude_block("b2", "b1", 3, "b", said("B done"), **side("bb")),
        made.claude_user("a1", None, 2, "do A", **side("aa")),
        made.claude_block("a2", "a1", 3, "a1", task("C", "do C"), **side("aa")),
        made.claude_user("c1", None, 4, "do C", **side("cc")),
        made.claude_block("c2", "c1", 5, "c", said("C done"), **side("cc")),
        made.claude_user("a3", "a2", 6, **done("C", "cc"), **side("aa")),
        made.claude_block("a4", "a3", 7, "a2", said("A done"), **side("aa")),
        made.claude_user("u2", "m1b", 8, **done("B", "bb")),
        made.claude_user("u3", "m1a", 8, **done("A", "aa")),
        made.claude_block("m2", "u3", 9, "m2", task("A2", "more A")),
        made.claude_user("a5", "a4", 10, "more A", **side("aa")),
        made.claude_block("a6", "a5", 11, "a3", said("more done"), **side("aa")),
        made.claude_user("u4", "m2", 12, **done("A2", "aa")),
        made.claude_block("m3", "u4", 13, "m3", said("All done")),
    ]
    agents = ["bb", "aa", "cc"] if layout == "a file for each agent" else []
    main = [line for line in lines if line.get("agentId") not in agents]
    for agent in agents:
        folder = tmp_path / "s1" / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        own = [orjson.dumps(line) for line in lines if line.get("agentId") == agent]
        Path(folder, f"agent-{agent}.jsonl").write_bytes(b"\n".join(own) + b"\n")
    trace = trace_of(tmp_path, "s1.jsonl", made.jsonl(main))
    (tree,) = trees(trace)
    begun = {line.thread: line.turns for line in tree.lines}
    main_turns, first = begun["main"], begun["aa"]
    assert {line.thread: (line.after, line.joined) for line in tree.lines[1:]} == {
        "aa": (main_turns[0], main_turns[1]),
        "bb": (main_turns[0], main_turns[1]),
        "cc": (first[0], first[1]),
        "aa-2": (main_turns[1], main_turns[2]),
    }
    times = [record.times for record in map(trace.turns.__getitem__, tree.turns)]
    assert [times[0], times[-1]] == [trace.turns[main_turns[n]].times for n in (0, 2)]
    assert tree.turns.index(first[1]) > tree.turns.index(begun["cc"][0])


def _boundary(uuid: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
    line = made.claude_user(uuid, parent, 5, "")
    return {key: line[key] for key in line if key != "message"} | {"type": "system", "subtype": kind} | more


@pytest.mark.parametrize("anchor", ["summary", "boundary"])
@pytest.mark.parametrize("behind", ["anchor", "tail"])
def test_claude_2_compaction_that_leaves_the_last_messages_as_they_were(
    tmp_path: Path, anchor: str, behind: str
) -> None:
    """Their lines are not written anew: what follows hangs on the summary, or on the last of them."""
    kept = {"headUuid": "a2", "anchorUuid": "s" if anchor == "summary" else "b", "tailUuid": "u3"}
    follows = {"summary": {"anchor": "s", "tail": "u3"}[behind], "boundary": "s"}[anchor]
    records = [
        made.claude_user("u1", None, 0, "Go"),
        made.claude_block("a1", "u1", 1, "m1", made.claude_call("c1")),
        made.claude_user("u2", "a1", 2, made.claude_result("c1", "one")),
        made.claude_block("a2", "u2", 3, "m2", made.claude_call("c2")),
        made.claude_user("u3", "a2", 4, made.claude_result("c2", "two")),
        _boundary("b", None, "compact_boundary", compactMetadata={"preservedSegment": kept}),
        made.claude_user("s", "b", 6, "All before", isCompactSummary=True),
        made.claude_user("u4", follows, 7, "More"),
        made.claude_block("a3", "u4", 8, "m3", {"type": "text", "text": "Done"}),
    ]
    with trace_of(tmp_path, "session.jsonl", made.jsonl(records)) as trace:
        segment, summary = ["call c2", "result c2"], ["compaction All before"]
        whole = summary + segment if anchor == "summary" else segment + summary
        assert contexts(trace)[-1] == [*whole, "user More"]


def test_claude_2_results_that_it_took_out_of_later_prompts_or_never_sent_whole(tmp_path: Path) -> None:
    replaced = [{"kind": "tool-result", "toolUseId": "c2", "replacement": "a preview"}]
    gone = {"compactedToolIds": ["c1", "c9"]}
    records = [
        made.claude_user("u1", None, 0, "Go"),
        made.claude_block("a1", "u1", 1, "m1", made.claude_call("c1")),
        made.claude_block("a2", "a1", 1, "m1", made.claude_call("c2")),
        made.claude_user("u2", "a2", 2, made.claude_result("c1", "all of one")),
        made.claude_user("u3", "u2", 2, made.claude_result("c2", "all of two")),
        {"type": "content-replacement", "sessionId": "s", "replacements": replaced},
        made.claude_block("a3", "u3", 3, "m2", made.claude_call("c3")),
        made.claude_user("u4", "a3", 4, made.claude_result("c3", "three")),
        _boundary("b", "u4", "microcompact_boundary", microcompactMetadata=gone),
        made.claude_block("a4", "b", 5, "m3", {"type": "text", "text": "Done"}),
    ]
    with trace_of(tmp_path, "session.jsonl", made.jsonl(records)) as trace:
        history = RecordedHistory(trace)
        said = [[m["content"] for m in history.messages(n) if m["role"] == "tool"] for n in history.turns]
    assert said == [
        [],
        ["all of one", "a preview"],
        ["[Old tool result content cleared]", "a preview", "three"],
    ]


def test_claude_session_that_begins_in_the_middle_says_what_its_prompts_lack(tmp_path: Path) -> None:
    records = [
        made.claude_user("u9", "of another file", 0, "Go on"),
        made.claude_block("a9", "u9", 1, "m9", {"type": "text", "text": "Done"}),
    ]
    with trace_of(tmp_path, "session.jsonl", made.jsonl(records)) as trace:
        assert "lack what was said before it" in " ".join(trace.header.meta["warnings"])
