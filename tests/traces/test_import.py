"""Every format: found by content, counted right, contexts as they were sent; damage never ends in a traceback."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.traces.convert import convert, list_sessions
from replayer.traces.reader import Trace
from replayer.traces.schema import AnyItem, ToolCallItem
from replayer.traces.summary import Summary, check
from tests.traces import samples as made
from tests.traces.imported import SAMPLES, outcomes_of, trace_of


def _brief(item: AnyItem) -> str:
    """An item as a short text, to state contexts with."""
    if item.kind == "tool_call":
        return f"call {item.call_id}"
    if item.kind == "tool_result":
        return f"result {item.call_id}"
    text = item.content if item.kind == "user" else getattr(item, "text", "opaque")
    return f"{item.kind} {text if isinstance(text, str) else 'parts'}"[:40]


def _contexts(trace: Trace) -> list[list[str]]:
    return [[_brief(trace.item(i)) for i in trace.context(turn.id)] for turn in trace.turns]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
def test_counts(sample: made.Sample, tmp_path: Path) -> None:
    outcomes = outcomes_of(sample, tmp_path)
    found = [outcome for outcome in outcomes if isinstance(outcome, Summary)]
    assert {summary.format for summary in found} == {sample.format}
    assert len(found) == sample.traces
    assert sum(summary.turns for summary in found) == sample.turns
    assert sum(summary.tool_calls for summary in found) == sample.calls
    assert sum(summary.failed_results for summary in found) == sample.failed
    assert sum(summary.threads for summary in found) == sample.threads
    if sample.largest is not None:
        assert max(summary.max_prompt_tokens_estimate for summary in found) == sample.largest
    for summary in found:
        check(Path(summary.trace))
        with Trace.open(summary.trace) as trace:
            for turn in trace.turns:
                history = RecordedHistory(trace, thread=turn.thread)
                if turn.id in history.turns:
                    orjson.loads(b"".join(history.request(turn.id, {"model": "m"}).body))


def test_a_damaged_row_does_not_keep_the_others(tmp_path: Path) -> None:
    [database] = [sample for sample in SAMPLES if sample.format == "zed-threads-db"]
    errors = [outcome for outcome in outcomes_of(database, tmp_path) if isinstance(outcome, TraceError)]
    assert [str(error) for error in errors if "bad-1 is damaged" in str(error)] and len(errors) == 1
    assert [session.key for session in list_sessions(tmp_path / "threads.db")] == [
        "parent-1",
        "old-1",
        "older-1",
        "bad-1",
    ]
    [summary] = list(convert(tmp_path / "threads.db", tmp_path / "picked", pick=["fix the GREETING"]))
    assert isinstance(summary, Summary) and summary.turns == 7
    with Trace.open(summary.trace) as trace:
        [sub] = trace.threads
        assert sub.parent_call is not None
        call = trace.item(sub.parent_call)
        assert isinstance(call, ToolCallItem) and call.name == "spawn_agent"
    with pytest.raises(TraceError, match="--list"):
        list(convert(tmp_path / "threads.db", tmp_path / "picked", pick=["nothing"]))


def test_a_cut_database_gives_the_threads_that_are_left(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE threads (id TEXT, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)"
    )
    for number in range(40):
        thread = {**made.zed_thread(), "detailed_summary": str(number) * 3000}
        connection.execute(
            "INSERT INTO threads VALUES (?, '', '', 'json', ?)", (f"t{number}", orjson.dumps(thread))
        )
    connection.commit()
    connection.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    found = [outcome for outcome in convert(path, tmp_path / "out") if isinstance(outcome, Summary)]
    assert 10 < len(found) < 40
    assert all(any("cut off" in warning for warning in summary.warnings) for summary in found)


def test_zed_contexts_keep_completion_order_and_drop_cancelled_calls(tmp_path: Path) -> None:
    with trace_of(tmp_path, "t.json", made.zed_thread()) as trace:
        _, second, third = _contexts(trace)
        first = ["user parts", "reasoning First I look.", "assistant Looking.", "call c1", "call c2"]
        assert second == [*first, "result c2", "result c1", "user Continue where you left off"]
        assert third == [*second, "call c4", "result c4", "user And now?"]
        call = next(i for i in trace.items() if i.kind == "tool_call" and i.call_id == "c1")
        assert isinstance(call, ToolCallItem) and call.arguments == '{"path": "p/app.py"}'
        assert trace.header.workspace == {
            "roots": [{"path": "/p", "remote": "r", "commit": "abc", "branch": None, "diff": "+x"}]
        }
        assert [turn.usage and turn.usage.prompt_tokens for turn in trace.turns] == [None, 900, 1000]


def test_zed_starts_from_the_summary_after_a_compaction(tmp_path: Path) -> None:
    with trace_of(tmp_path, "t.json", made.zed_compacted()) as trace:
        assert _contexts(trace)[-1] == [
            "compaction The previous conversation was compacted. Use th"[:40],
            "user parts",
            "user And now?",
        ]


def test_claude_contexts_follow_the_graph(tmp_path: Path) -> None:
    with trace_of(tmp_path, "s.jsonl", made.jsonl(made.claude_session())) as trace:
        by_thread = [turn.thread for turn in trace.turns]
        contexts = _contexts(trace)
        first = ["user Tidy up", "reasoning Look first", "call t1", "call t2", "result t1", "result t2"]
        assert sorted(by_thread) == ["ag1", *["main"] * 4]
        main = [c for c, name in zip(contexts, by_thread, strict=True) if name == "main"]
        assert main[0] == ["user Tidy up"]
        assert main[1] == first
        assert main[2] == [*first, "user Other way"]
        assert main[3] == ["compaction We tidied.", "user Go on"]
        [sub] = trace.threads
        assert sub.id == "ag1" and sub.parent_call is not None
        call = trace.item(sub.parent_call)
        assert isinstance(call, ToolCallItem) and call.call_id == "t2"
        assert any(i.kind == "opaque" and i.record.get("type") == "future-record" for i in trace.items())
        assert trace.header.title == "Tidy up"


def test_codex_contexts_and_exact_text(tmp_path: Path) -> None:
    with trace_of(tmp_path, "r.jsonl", made.jsonl(made.codex_session())) as trace:
        contexts = _contexts(trace)
        head = ["system Be Codex.", "system Rules.", "user Tidy"]
        assert contexts[0] == head
        assert contexts[1] == [*head, "reasoning ", "call c1", "call c2", "result c2", "result c1"]
        assert contexts[2] == ["system Be Codex.", "user Tidy", "user Summary"]
        usages = [turn.usage.prompt_tokens for turn in trace.turns if turn.usage]
        assert usages == [90, 190, 60]
        patch = next(i for i in trace.items() if i.kind == "tool_call" and i.name == "apply_patch")
        assert isinstance(patch, ToolCallItem) and patch.freeform and patch.arguments == "*** Begin Patch"


def test_codex_of_2025_wraps_results_in_json(tmp_path: Path) -> None:
    records = made.codex_session()
    for record in records:
        payload = record["payload"]
        if payload.get("type") == "function_call_output":
            payload["output"] = '{"output":"no such file","metadata":{"exit_code":2,"duration_seconds":0.1}}'
    with trace_of(tmp_path, "r.jsonl", made.jsonl(records)) as trace:
        results = [i for i in trace.items() if i.kind == "tool_result" and "no such" in str(i.content)]
        assert results and all(result.is_error for result in results)


def test_swe_agent_query_is_the_context_exactly(tmp_path: Path) -> None:
    document = made.swe_agent(query=True)
    with trace_of(tmp_path, "q.traj", document) as trace:
        history = RecordedHistory(trace)
        for turn, step in zip(history.turns, document["trajectory"], strict=True):
            sent = [(m["role"], m["content"], m.get("tool_calls")) for m in step["query"]]
            assert [(m["role"], m["content"], m.get("tool_calls")) for m in history.messages(turn)] == sent


def test_openhands_rebuilds_parallel_calls_results_and_condensation(tmp_path: Path) -> None:
    with trace_of(tmp_path, "e.json", made.openhands_v0()) as trace:
        assert _contexts(trace) == [
            ["system Be OpenHands.", "user Tidy"],
            ["system Be OpenHands.", "user Tidy", "compaction Listed."],
        ]
        results = [i.content for i in trace.items() if i.kind == "tool_result"]
        assert results[0] == "a\n[Current working directory: /w]\n[Command finished with exit code 1]"


@pytest.mark.parametrize("file", ["chat.jsonl", "page.har", "litellm.jsonl"])
def test_logged_requests_come_back_as_they_were(file: str, tmp_path: Path) -> None:
    [sample] = [sample for sample in SAMPLES if sample.file == file]
    first = outcomes_of(sample, tmp_path)[0]
    assert isinstance(first, Summary)
    with Trace.open(first.trace) as trace:
        history = RecordedHistory(trace)
        bodies = [
            orjson.loads(b"".join(history.request(turn, {}, stream=False).body)) for turn in history.turns
        ]
        assert [body["messages"] for body in bodies] == [made.ASK, [*made.ASK, made.CALLING, made.ANSWER]]
        assert all(body["tools"] == made.TOOLS and 0.1 < body["temperature"] < 0.6 for body in bodies)
        assert trace.turns[0].produced == trace.context(1)[2:3]
        if file == "page.har":
            raw = orjson.loads(sample.data)["log"]["entries"][2]["request"]["postData"]["text"].encode()
            assert b"".join(history.request(history.turns[0], {}, stream=False).body) == raw


def test_token_traces_share_filler_where_they_share_blocks(tmp_path: Path) -> None:
    with trace_of(tmp_path, "m.jsonl", made.jsonl(made.MOONCAKE)) as trace:
        history = RecordedHistory(trace)
        assert history.thread == "chain-1" and len(history.turns) == 2
        one, two = (history.messages(turn)[0]["content"] for turn in history.turns)
        words = [len(text.split()) for text in (one, two)]
        assert words == [1100, 1700]
        assert one.split()[:1024] == two.split()[:1024] and one.split()[1024:] != two.split()[1024:1100]


@pytest.mark.parametrize(
    ("events", "name"), [(made.openhands_v0(), "{}.json"), (made.openhands_v1(), "event-{:05}-x.json")]
)
def test_a_folder_of_events_is_one_session(events: list[dict[str, Any]], name: str, tmp_path: Path) -> None:
    folder = tmp_path / "session" / "events"
    folder.mkdir(parents=True)
    for number, event in enumerate(events):
        (folder / name.format(number + 98)).write_bytes(orjson.dumps(event))
    [summary] = convert(folder.parent, tmp_path / "out")
    assert isinstance(summary, Summary) and (summary.turns, summary.tool_calls) == (2, 2)


def test_benchmark_trajectories_are_transcripts(tmp_path: Path) -> None:
    runs = [
        {"task_id": n, "trial": 0, "reward": 1.0, "traj": [*made.ASK, made.CALLING, made.ANSWER, made.DONE]}
        for n in (4, 7)
    ]
    path = tmp_path / "runs.json"
    path.write_bytes(orjson.dumps(runs))
    found = list(convert(path, tmp_path / "out"))
    assert [Path(s.trace).name for s in found if isinstance(s, Summary)] == [
        "runs-4.trace.jsonl",
        "runs-7.trace.jsonl",
    ]
    with Trace.open(found[0].trace) as trace:  # type: ignore[union-attr]
        assert trace.header.meta["reward"] == 1.0 and len(trace.turns) == 2


def test_messages_of_unusual_form_are_kept_exactly(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {
            "content": [{"type": "text", "text": "@1.x", "cache_control": {"type": "ephemeral"}}],
            "role": "system",
        },
        {
            "role": "user",
            "name": "@me",
            "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}],
        },
        {"content": "", "role": "assistant", "refusal": None},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}],
            "reasoning": "r",
        },
        {
            "role": "assistant",
            "tool_calls": [{"function": {"arguments": {"p": 1}, "name": "f"}, "id": "x", "type": "function"}],
        },
        {"role": "tool", "content": None, "tool_call_id": "x"},
        {"role": "user"},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "developer"},
        {"role": "assistant", "tool_calls": [None, {"id": 1}]},
        {"role": "user", "content": [{"type": "text"}, {"type": "text", "text": ["odd"]}]},
        {"role": "user", "content": "go"},
    ]
    body = {
        "messages": messages,
        "model": "m",
        "stop": ["@"],
        "n": 1,
        "tools": [{"type": "web_search"}, *made.TOOLS],
    }
    for odd in (
        body,
        {**body, "tools": None},
        {**body, "tools": []},
        {**body, "tools": ["x"], "model": None},
    ):
        with trace_of(tmp_path, f"odd-{len(str(odd))}.jsonl", made.jsonl([odd, odd])) as trace:
            history = RecordedHistory(trace)
            for turn in history.turns:
                assert b"".join(history.request(turn, {}, stream=False).body) == orjson.dumps(odd)


def test_unknown_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    for name, data, reason in [
        ("empty", b"", "empty"),
        ("text", b"hello\nworld\n", "no format that replayer knows"),
        ("binary", b"\x00\x01\x02" * 50, "binary"),
        ("json", b'{"a": 1}', "no format that replayer knows"),
        ("half", b'{"messages": [{"User"', "no format that replayer knows"),
    ]:
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(TraceError, match=reason):
            list(convert(path, tmp_path / "out"))
    with pytest.raises(TraceError, match="No such file"):
        list(convert(tmp_path / "absent", tmp_path / "out"))
    path.write_bytes(orjson.dumps(made.atif()))
    with pytest.raises(TraceError, match="did you mean 'codex'"):
        list(convert(path, tmp_path / "out", "codx"))
    with pytest.raises(TraceError, match="not of the format 'codex'"):
        list(convert(path, tmp_path / "out", "codex"))


def test_an_event_may_hold_line_ends_of_unicode(tmp_path: Path) -> None:
    said = "one\u2028two\u0085three"
    event = f'data: {{"choices":[{{"index":0,"delta":{{"content":"{said}"}}}}]}}\n\ndata: [DONE]\n\n'
    path = tmp_path / "log.jsonl"
    path.write_bytes(made.jsonl([{"request": made.request(made.ASK), "response": event}]))
    [summary] = convert(path, tmp_path / "out")
    assert isinstance(summary, Summary)
    with Trace.open(summary.trace) as trace:
        assert [trace.item(n).text for n in trace.turns[0].produced] == [said]  # type: ignore[union-attr]


def test_a_session_that_never_compacts_takes_little_memory(tmp_path: Path) -> None:
    """12,000 rounds, each prompt holding all before it: contexts are stored and counted as changes."""
    lines, parent = [], None
    for number in range(12_000):
        asked, said = f"u{number}", f"a{number}"
        lines.append(
            made.claude_user(asked, parent, 0, made.claude_result(f"t{number - 1}", f"result {number}"))
        )
        lines.append(made.claude_block(said, asked, 1, f"m{number}", made.claude_call(f"t{number}")))
        parent = said
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    code = (
        "import re, sys; from pathlib import Path; from replayer.traces.convert import convert; "
        "[s] = convert(Path(sys.argv[1]), Path(sys.argv[2])); "
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]; "
        "print(s.turns, s.tool_calls, int(peak) // 1024)"
    )
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "out")]
    turns, calls, mebibytes = map(
        int, subprocess.run(command, capture_output=True, check=True).stdout.split()
    )
    assert (turns, calls) == (12_000, 12_000)
    assert mebibytes < 150
    with Trace.open(next((tmp_path / "out").iterdir())) as trace:
        last = trace.turns[-1].context
        assert (last.base, last.keep, len(last.append)) == (11_998, 23_998, 1)
        assert len(trace.context(11_999)) == 23_999
