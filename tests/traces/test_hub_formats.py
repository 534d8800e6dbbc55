"""Formats of the hub and of public data sets: counted directly, and what each prompt held."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.requests.history import RecordedHistory
from replayer.traces.convert import convert
from replayer.traces.reader import Trace
from replayer.traces.summary import Summary
from tests.traces import samples as made
from tests.traces.samples import hub


def _imported(tmp_path: Path, file: str, data: bytes) -> list[Summary]:
    path = tmp_path / file
    path.write_bytes(data)
    outcomes = list(convert(path, tmp_path / "out"))
    assert all(isinstance(outcome, Summary) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Summary)]


def _trace(tmp_path: Path, file: str, data: bytes) -> Trace:
    [summary] = _imported(tmp_path, file, data)
    return Trace.open(summary.trace)


def _told(trace: Trace, turn: int) -> list[str]:
    """What a turn was sent, a word or two an item."""
    items = [trace.item(number) for number in trace.context(turn)]
    return [
        str(getattr(i, "call_id", None) or getattr(i, "text", None) or getattr(i, "content", ""))[:24]
        for i in items
    ]


def test_pi_counts(tmp_path: Path) -> None:
    [summary] = _imported(tmp_path, "pi.jsonl", made.jsonl(made.pi()))
    messages = [line["message"] for line in made.pi() if line["type"] == "message"]
    replies = [message for message in messages if message["role"] == "assistant"]
    calls = [block for reply in replies for block in reply["content"] if block["type"] == "toolCall"]
    failed = [m for m in messages if m["role"] == "toolResult" and m["isError"]]
    assert (summary.turns, summary.tool_calls, summary.failed_results) == (
        len(replies),
        len(calls),
        len(failed),
    )
    used = [reply["usage"] for reply in replies]
    largest = max(use["input"] + use["cacheRead"] + use["cacheWrite"] for use in used)
    assert summary.max_prompt_tokens_estimate == largest


def test_pi_branches_and_compactions(tmp_path: Path) -> None:
    with _trace(tmp_path, "pi.jsonl", made.jsonl(made.pi())) as trace:
        assert trace.header.agent == "pi" and trace.header.source.version == "3"
        assert _told(trace, 1) == ["Tidy the parser", "Look first", "c1", "c2", "c1", "c2"]
        back = _told(trace, 2)
        assert back[:6] == _told(trace, 1)
        assert [text[:12] for text in back[6:]] == ["The followin", "Ran `pwd`\n``", "Again, pleas"]
        assert [text[:9] for text in _told(trace, 3)] == ["The conve", "Again, pl", "Go on"]
        first = trace.turns[0]
        assert (first.finish_reason, first.model) == ("tool_calls", "claude-x")
        assert first.times and first.times.started and first.times.ended == first.times.started + 1
        assert [turn.finish_reason for turn in trace.turns[1:]] == ["stop", "aborted", "stop"]


def test_pi_without_ids_is_one_line(tmp_path: Path) -> None:
    """Version 1 has no tree."""
    lines = [{k: v for k, v in line.items() if k not in ("id", "parentId")} for line in made.pi()[:7]]
    with _trace(tmp_path, "pi.jsonl", made.jsonl(lines)) as trace:
        assert _told(trace, 1) == ["Tidy the parser", "Look first", "c1", "c2", "c1", "c2"]


def test_the_simple_format_of_the_hub(tmp_path: Path) -> None:
    messages = [line["message"] for line in made.sts()[1:]]
    [summary] = _imported(tmp_path, "s.jsonl", made.jsonl(made.sts()))
    roles = Counter(message["role"] for message in messages)
    calls = sum(len(message.get("toolCalls", ())) for message in messages)
    assert (summary.turns, summary.tool_calls) == (roles["assistant"], calls)
    with Trace.open(summary.trace) as trace:
        assert (trace.header.agent, trace.header.title) == ("my-agent", "Time")
        sent = RecordedHistory(trace).messages(1)
        assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool"]
        assert sent[2]["tool_calls"][0]["function"]["arguments"] == '{"zone": "UTC"}'
        assert sent[3]["tool_call_id"] == "t1"


def test_opencode_counts(tmp_path: Path) -> None:
    """A turn is a step; a reply that failed before it said anything is none."""
    (tmp_path / "scratch").mkdir()
    database = hub.opencode_database(tmp_path / "scratch")
    connection = sqlite3.connect(tmp_path / "scratch" / "opencode.db")
    parts = [json.loads(data) for (data,) in connection.execute("SELECT data FROM part")]
    connection.close()
    steps = sum(part["type"] == "step-finish" for part in parts) + 1  # the subagent's reply has no steps
    tools = [part for part in parts if part["type"] == "tool"]
    [summary] = _imported(tmp_path, "opencode.db", database)
    assert (summary.turns, summary.tool_calls, summary.threads) == (steps, len(tools), 2)
    assert summary.failed_results == sum(tool["state"]["status"] == "error" for tool in tools)
    with Trace.open(summary.trace) as trace:
        [child] = [thread for thread in trace.threads if thread.parent == "main"]
        call = trace.item(child.parent_call or 0)
        assert call.kind == "tool_call" and call.name == "task"
        [turn] = [turn for turn in trace.turns if turn.thread == child.id]
        assert _told(trace, turn.id) == ["Look"]


def test_an_export_of_opencode(tmp_path: Path) -> None:
    with _trace(tmp_path, "export.json", orjson.dumps(made.opencode_export())) as trace:
        assert [turn.finish_reason for turn in trace.turns] == ["tool_calls", "stop", "stop", "stop"]
        assert _told(trace, 1)[1:] == ["Hm", "c1", "c2", "c1", "c2"]
        assert _told(trace, 2)[-2:] == ["Done", "What did we do so far?"]
        assert _told(trace, 3) == ["What did we do so far?", "We tidied", "All well?"]
        usage = trace.turns[1].usage
        assert usage and (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (80, 60, 9)


def test_bailian_is_read_as_what_it_is(tmp_path: Path) -> None:
    with _trace(tmp_path, "bailian.jsonl", made.jsonl(made.BAILIAN)) as trace:
        shapes = [turn.tokens for turn in trace.turns]
        assert [
            shape and (shape.input_tokens, shape.block_size, list(shape.block_hashes)) for shape in shapes
        ] == [(row["input_length"], 16, row["hash_ids"]) for row in made.BAILIAN]
        assert [turn.times and turn.times.started for turn in trace.turns] == [0.5, 61.114, 90.0]
        assert [turn.thread for turn in trace.turns] == ["chat-1", "chat-2", "chat-1"]


def test_equal_content_behind_another_beginning_is_no_shared_prefix(tmp_path: Path) -> None:
    """Bailian's hashes are of the content alone: block 2 of the second chat is that of the first, behind another."""
    with _trace(tmp_path, "bailian.jsonl", made.jsonl(made.BAILIAN)) as trace:
        [one] = RecordedHistory(trace, thread="chat-1").messages(0)
        [two] = RecordedHistory(trace, thread="chat-2").messages(1)
    same = next(n for n, (a, b) in enumerate(zip(one["content"], two["content"], strict=False)) if a != b)
    assert same < 16
    assert one["content"].split()[16:32] == two["content"].split()[16:32]


def test_tracelab_counts_and_derived_blocks(tmp_path: Path) -> None:
    rows = made.tracelab()
    [summary] = _imported(tmp_path, "t.jsonl.gz", made.jsonl(rows))
    calls = [tool for row in rows for tool in row["tools"]]
    assert (summary.turns, summary.threads) == (len(rows), len({row["session_id"] for row in rows}))
    assert (summary.tool_calls, summary.failed_results) == (len(calls), sum(c["is_error"] for c in calls))
    with Trace.open(summary.trace) as trace:
        mine = [turn for turn in trace.turns if turn.thread == "claude:a"]
        blocks = [turn.tokens.block_hashes for turn in mine if turn.tokens]
        assert [len(found) for found in blocks] == [10, 15, 15]
        assert blocks[1][:10] == blocks[0] and blocks[2] == blocks[1]
        assert [turn.usage and turn.usage.cached_tokens for turn in mine] == [0, 640, 960]
        assert all(t.times and t.times.first_token == (t.times.started or 0) + 0.25 for t in mine)


def test_rows_of_a_table_are_read_by_their_content(tmp_path: Path) -> None:
    rows = [
        {"session_id": "p", "trace": made.jsonl(made.pi()).decode()},
        {"session_id": "c", "trace": made.jsonl(made.codex_session()).decode()},
        {"session_id": "x", "trace": '{"nothing": "known"}'},
    ]
    path = tmp_path / "donated.parquet"
    path.write_bytes(made.table(rows))
    outcomes = list(convert(path, tmp_path / "out"))
    known = [(o.format, o.turns) for o in outcomes if isinstance(o, Summary)]
    assert known == [("pi", 4), ("codex", 3)]
    assert "of no format that replayer knows" in str(outcomes[2])


@pytest.mark.parametrize(
    "data", [{"type": "session", "id": "s"}, {"type": "session_meta", "payload": {"id": "x"}}]
)
def test_a_file_with_nothing_to_replay_says_so(tmp_path: Path, data: dict[str, Any]) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(made.jsonl([data, {"type": "message", "message": {"role": "user", "content": "Hello"}}]))
    command = [sys.executable, "-m", "replayer", "import", str(path), "-o", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "nothing to replay: read as" in done.stderr and "it holds no LLM call" in done.stderr
