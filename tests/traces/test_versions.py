"""Neighbouring versions of the formats: what real files of older and newer agents hold, in small."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.traces.convert import convert
from replayer.traces.reader import Trace
from replayer.traces.schema import OpaqueItem, ToolResultItem
from replayer.traces.summary import Summary
from tests.traces import samples as made
from tests.traces.imported import contexts, trace_of


def _codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2025-10-01T10:00:00Z", "type": kind, "payload": payload}


def test_codex_of_2025_counts_tokens_before_the_items_and_answers_each_call_at_once(tmp_path: Path) -> None:
    def count(total: int, prompt: int) -> dict[str, Any]:
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": {"input_tokens": prompt}}
        return _codex("event_msg", type="token_count", info=info)

    def answered(call: str) -> list[dict[str, Any]]:
        output = {"type": "function_call_output", "call_id": call, "output": "ok"}
        return [_codex("response_item", **made.codex_call(call)), _codex("response_item", **output)]

    def says(role: str, text: str) -> dict[str, Any]:
        return _codex("response_item", type="message", role=role, content=[{"type": "text", "text": text}])

    records = [
        _codex("session_meta", id="x", cli_version="0.50.0", instructions="Be kind"),
        says("user", "<user_instructions>Be kind</user_instructions>"),
        _codex("event_msg", type="token_count", info=None),
        count(100, 90),
        *answered("c1"),
        *answered("c2"),
        count(100, 90),
        count(300, 190),
        *answered("c3"),
        count(600, 290),
        says("assistant", "Done"),
    ]
    with trace_of(tmp_path, "rollout.jsonl", made.jsonl(records)) as trace:
        assert [turn.usage and turn.usage.prompt_tokens for turn in trace.turns] == [90, 190, 290]
        assert not any("goes on with session" in warning for warning in trace.header.meta["warnings"])
        asked = "user <user_instructions>Be kind</user_instructions>"
        assert contexts(trace)[1] == [asked, "call c1", "call c2", "result c1", "result c2"]
        assert trace.header.fidelity.system == "absent"


def test_two_codex_sessions_in_one_file_are_told_but_a_fork_is_none(tmp_path: Path) -> None:
    forked = [_codex("session_meta", id="y", cli_version="0.142.0", forked_from_id="x")]
    for more, said in ((forked, False), ([_codex("session_meta", id="z", cli_version="0.142.0")], True)):
        with trace_of(tmp_path, f"r{said}.jsonl", made.jsonl([*made.codex_session(), *more])) as trace:
            assert any("goes on with session z" in w for w in trace.header.meta["warnings"]) is said


def test_codex_before_the_wrapped_form_marks_replies_with_state_lines(tmp_path: Path) -> None:
    state = {"record_type": "state"}
    output = {"type": "function_call_output", "output": "{}"}
    records = [
        {"id": "y", "timestamp": "2025-08-01T10:00:00Z", "instructions": "Be kind", "git": {}},
        state,
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Tidy"}]},
        state,
        state,
        made.codex_call("c1"),
        {**output, "call_id": "c1"},
        made.codex_call("c2"),
        {**output, "call_id": "c2"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Look"}]},
        state,
        made.codex_call("c3"),
    ]
    with trace_of(tmp_path, "rollout.jsonl", made.jsonl(records)) as trace:
        head = ["user <user_instructions>\n\nBe kind\n\n</user_instructions>", "user Tidy"]
        said = ["call c1", "call c2", "assistant Look", "result c1", "result c2"]
        assert contexts(trace) == [head, [*head, *said]]
        fidelity = trace.header.fidelity
        assert (fidelity.system, fidelity.usage, fidelity.timing) == ("absent",) * 3
        assert not any(item.kind == "opaque" for item in trace.items())


def test_swe_agent_queries_with_a_refused_reply_an_exit_and_attempts(tmp_path: Path) -> None:
    """A reply without a valid action is asked again outside of the history; the exit is a step of the agent's own."""
    document = made.swe_agent(query=True)
    first, second = document["trajectory"]
    call = {
        **first["query"][0],
        "role": "assistant",
        "content": "",
        "tool_calls": [made.CALLING["tool_calls"][0]],
    }
    refused = {**first, "response": "", "action": "", "query": first["query"]}
    again = {
        **first,
        "query": [*first["query"], call, {"role": "user", "content": "Your call was not valid."}],
    }
    gone = {"action": "", "observation": "", "response": "Exit due to cost limit", "state": {}, "query": [{}]}
    document["trajectory"] = [refused, again, second, gone]
    document["history"].append({"role": "assistant", "content": "Exit due to cost limit", "agent": "main"})
    with trace_of(tmp_path, "exit.traj", document) as trace:
        assert [len(context) for context in contexts(trace)] == [2, 4, 5]
        made_by = [[trace.item(item).kind for item in turn.produced] for turn in trace.turns]
        assert made_by == [["tool_call"], ["assistant", "tool_call"], ["assistant"]]
        history = RecordedHistory(trace)
        for turn, step in zip(history.turns, document["trajectory"][:3], strict=True):
            sent = [(m["role"], m["content"], m.get("tool_calls")) for m in step["query"]]
            assert [(m["role"], m["content"], m.get("tool_calls")) for m in history.messages(turn)] == sent
    retried = {"attempts": [made.swe_agent(query=True), document], "trajectory": [], "info": {}}
    (tmp_path / "retry.traj").write_bytes(orjson.dumps(retried))
    found = [s for s in convert(tmp_path / "retry.traj", tmp_path / "r") if isinstance(s, Summary)]
    assert [(s.format, s.turns) for s in found] == [("swe-agent", 2), ("swe-agent", 3)]


def test_litellm_callbacks_with_optional_params(tmp_path: Path) -> None:
    """What a custom logger gets as `kwargs`, with the response beside it (litellm 1.106)."""
    line = {
        "model": "m",
        "messages": made.ASK,
        "optional_params": {"temperature": 0.3, "tools": made.TOOLS},
        "call_type": "completion",
        "start_time": "2026-11-21 10:36:08.412",
        "end_time": "2026-11-21 10:36:09.412",
        "response": made.completion(made.DONE, 20),
    }
    with trace_of(tmp_path, "log.jsonl", made.jsonl([line])) as trace:
        [turn] = trace.turns
        assert turn.params == {"temperature": 0.3} and turn.tool_set is not None
        assert turn.times and turn.times.ended and turn.times.started == turn.times.ended - 1
        assert not any("experimental" in str(warning) for warning in trace.header.meta.get("warnings", ()))


def test_openhands_v1_as_the_sdk_writes_it_today(tmp_path: Path) -> None:
    """SDK 1.58: usage in the state beside the events, tools without parameters, results rendered for the model."""
    records = made.openhands_v1()
    records[0]["tools"] = [{"description": "Runs.", "kind": "TerminalTool", "title": "terminal"}]
    place = {
        "exit_code": 0,
        "working_dir": "/w",
        "py_interpreter_path": "/py",
        "prefix": "",
        "suffix": "\n[ok]",
    }
    records[4]["observation"].update(is_error=True, metadata=place, exit_code=0)
    folder = tmp_path / "session"
    (folder / "events").mkdir(parents=True)
    for number, event in enumerate(records):
        (folder / "events" / f"event-{number:05}-x.json").write_bytes(orjson.dumps(event))
    counts = [{"response_id": "r1", "prompt_tokens": 70, "cache_read_tokens": 30, "completion_tokens": 5}]
    state = {"stats": {"usage_to_metrics": {"agent": {"token_usages": counts}}}}
    (folder / "base_state.json").write_bytes(orjson.dumps(state))
    [summary] = convert(folder, tmp_path / "out")
    assert isinstance(summary, Summary)
    with Trace.open(summary.trace) as trace:
        assert [
            turn.usage and (turn.usage.prompt_tokens, turn.usage.cached_tokens) for turn in trace.turns
        ] == [
            (70, 30),
            None,
        ]
        [result] = [i for i in trace.items() if i.kind == "tool_result" and i.call_id == "t2"]
        assert result.content == (
            "[An error occurred during execution.]\nb\n[ok]\n[Current working directory: /w]\n"
            "[Python interpreter: /py]\n[Command finished with exit code 0]"
        )
        assert trace.header.meta["tool_names"] == ["terminal"] and trace.header.fidelity.tools == "absent"


def test_gemini_saved_chats_and_prompt_logs(tmp_path: Path) -> None:
    def call(name: str, **more: Any) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": {"p": 1}, **more}}

    def answer(name: str, response: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": response, **more}}

    contents = [
        {"role": "user", "parts": [{"text": "Tidy"}]},
        {
            "role": "model",
            "parts": [{"text": "Hm", "thought": True}, call("ls"), call("cat", id="c9"), call("ls")],
        },
        {"role": "user", "parts": [answer("cat", {"error": "no"}, id="c9"), answer("ls", {"output": "a"})]},
        {"role": "user", "parts": [answer("ls", {"output": "b"})]},
        {"role": "model", "parts": [{"text": "Done"}]},
    ]
    for name, document in (("list", contents), ("history", {"history": contents, "authType": "x"})):
        with trace_of(tmp_path, f"checkpoint-{name}.json", document) as trace:
            said = ["user Tidy", "reasoning Hm", "call call_1", "call c9", "call call_3"]
            assert contexts(trace) == [["user Tidy"], [*said, "result c9", "result call_1", "result call_3"]]
            assert trace.header.source.format == "gemini-cli" and trace.header.fidelity.usage == "absent"
    typed = [{"sessionId": "s", "messageId": 0, "type": "user", "message": "Tidy", "timestamp": "2026-01-01"}]
    (tmp_path / "logs.json").write_bytes(orjson.dumps(typed))
    with pytest.raises(TraceError, match="typed prompts only"):
        list(convert(tmp_path / "logs.json", tmp_path))


def test_sharegpt_with_function_calls_a_system_prompt_and_tools(tmp_path: Path) -> None:
    turns = [
        {"from": "human", "value": "List it"},
        {"from": "function_call", "value": '{"name": "ls", "arguments": {"p": 1}}'},
        {"from": "observation", "value": "a"},
        {"from": "gpt", "value": "One file."},
    ]
    record = {"conversations": turns, "system": "Be brief.", "tools": orjson.dumps(made.TOOLS).decode()}
    with trace_of(tmp_path, "share.jsonl", made.jsonl([record, {"note": "none"}])) as trace:
        assert contexts(trace)[1] == ["system Be brief.", "user List it", "call call_1", "result call_1"]
        assert RecordedHistory(trace).tools(1)[0]["function"]["name"] == "ls"
        assert "records that hold no conversation, and are left out: 1" in trace.header.meta["warnings"]
    plain = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    with trace_of(tmp_path, "plain.json", [{"conversations": plain}]) as trace:
        assert contexts(trace) == [["user Hi"]]


def test_atif_with_nested_subagents_summed_steps_and_sound(tmp_path: Path) -> None:
    document = made.atif()
    leaf = {**document["subagent_trajectories"][0], "trajectory_id": "leaf"}
    document["subagent_trajectories"][0]["subagent_trajectories"] = [leaf]
    sound = {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}}
    document["steps"][1]["message"].append(sound)
    document["steps"][2] |= {"llm_call_count": 3}
    document["continued_trajectory_ref"] = "next.json"
    with trace_of(tmp_path, "trajectory.json", document) as trace:
        assert [thread.parent for thread in trace.threads] == ["main", "sub-sub"]
        assert [turn.usage and turn.usage.prompt_tokens for turn in trace.turns] == [None] * 4
        [user] = [item for item in trace.items() if item.kind == "user" and not isinstance(item.content, str)]
        assert "a.wav" in str(user.content)
        warnings = " ".join(trace.header.meta["warnings"])
        assert "several LLM calls" in warnings and "next.json" in warnings


def test_zed_messages_of_a_later_kind_do_not_cost_the_thread(tmp_path: Path) -> None:
    thread = made.zed_thread()
    thread["messages"][:0] = [{"Checkpoint": {"sha": "abc"}}, "Paused"]
    with trace_of(tmp_path, "thread.json", thread) as trace:
        assert len(trace.turns) == 3
        kept = [item.record for item in trace.items() if isinstance(item, OpaqueItem)]
        assert {"Checkpoint": {"sha": "abc"}} in kept and "Paused" in kept
        assert any("of a kind that replayer does not know" in w for w in trace.header.meta["warnings"])


def test_har_bodies_as_proxies_keep_them(tmp_path: Path) -> None:
    document = made.har()
    _, later, first = document["log"]["entries"]

    def packed(body: dict[str, Any], pack: Callable[[bytes], bytes]) -> None:
        body.update(text=base64.b64encode(pack(body["text"].encode())).decode(), encoding="base64")

    packed(later["request"]["postData"], bytes)
    packed(later["response"]["content"], gzip.compress)
    first["response"]["content"].update(text=base64.b64encode(b"\x1b\x03 brotli \xff").decode())
    with trace_of(tmp_path, "page.har", document) as trace:
        assert [len(turn.produced) for turn in trace.turns] == [0, 1]
        assert any("a reply cannot be read" in w for w in trace.header.meta["warnings"])
    del document["log"]["entries"][1:]
    (tmp_path / "page.har").write_bytes(orjson.dumps(document))
    with pytest.raises(TraceError, match=r"holds no session \(entries that are not chat completions"):
        list(convert(tmp_path / "page.har", tmp_path))


def test_qwen_code_is_not_taken_for_claude_code(tmp_path: Path) -> None:
    with trace_of(tmp_path, "chat.jsonl", made.jsonl(made.qwen())) as trace:
        assert trace.header.source.format == "qwen-code"
        assert contexts(trace) == [["user Tidy"], ["user We listed.", "assistant Good.", "user Go on"]]
        results = [item.call_id for item in trace.items() if isinstance(item, ToolResultItem)]
        assert results == ["c2", "c1"]
