"""Requests as the named clients write them, and what profiles stand in for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import PlanError
from replayer.prefix.prefix_report import Settings, analyse
from replayer.prefix.tokenizers import load_tokenizer
from replayer.requests.chat_requests import read_requests
from replayer.requests.dialects import DIALECTS, dialect
from replayer.requests.history import RecordedHistory
from replayer.traces.convert import convert
from replayer.traces.reader import Trace
from replayer.traces.schema import ToolSchema, ToolSet
from replayer.traces.summary import Summary
from tests.traces import samples as made


def _imported(folder: Path, file: str, data: bytes, pick: str | None = None) -> Trace:
    path = folder / file
    path.write_bytes(data)
    [summary] = convert(path, folder / "out", pick=[pick] if pick else [])
    assert isinstance(summary, Summary)
    return Trace.open(summary.trace)


def _body(history: RecordedHistory, turn: int, **fields: Any) -> str:
    return b"".join(history.request(turn, {"model": "gemma", **fields}).body).decode()


def test_zed_bodies_are_those_of_the_editor(tmp_path: Path) -> None:
    """Field order and forms after Zed's into_open_ai: see the module's docstring."""
    with _imported(tmp_path, "threads.db", made.zed_database(tmp_path), "parent-1") as trace:
        history = RecordedHistory(trace, "zed")
        context = (
            "<context>\\nThe following items were attached by the user. They are up-to-date and don't need to be "
            "re-read.\\n\\n<files>\\n```py /p/app.py\\nprint('hi')\\n```\\n</files>\\n</context>"
        )
        user = (
            '{"role":"user","content":[{"type":"text","text":"Fix "},'
            '{"type":"text","text":"[@app.py](file:///p/app.py)"},'
            f'{{"type":"text","text":"{context}"}}]}}'
        )
        head, tail = (
            '{"model":"gemma","messages":[',
            '],"stream":true,"stream_options":{"include_usage":true}',
        )
        assert _body(history, 0) == f'{head}{user}{tail},"temperature":1.0}}'
        assistant = (
            '{"role":"assistant","content":[{"type":"text","text":"First I look."},{"type":"text","text":"Looking."}],'
            '"tool_calls":[{"id":"c1","type":"function","function":{"name":"read_file",'
            '"arguments":"{\\"path\\":\\"p/app.py\\"}"}},'
            '{"id":"c2","type":"function","function":{"name":"grep","arguments":"{\\"regex\\":\\"é\\",\\"offset\\":0}"}}]}'
        )
        results = (
            '{"role":"tool","content":"no match","tool_call_id":"c2"},'
            '{"role":"tool","content":"<Tool returned an empty string>","tool_call_id":"c1"},'
            '{"role":"user","content":"Continue where you left off"}'
        )
        limits = ',"max_completion_tokens":64,"temperature":0.2}'
        sent = _body(history, 1, max_tokens=64, temperature=0.2)
        assert sent == f"{head}{user},{assistant},{results}{tail}{limits}"
        only_calls = orjson.loads(_body(history, 2))["messages"][5]
        assert only_calls["content"] is None and len(only_calls["tool_calls"]) == 1


def test_zed_with_its_profile_offers_sorted_tools_behind_the_sampling(tmp_path: Path) -> None:
    with _imported(tmp_path, "thread.json", orjson.dumps(made.zed_thread())) as trace:
        history = RecordedHistory(trace, "zed", profile_name="zed")
        body = orjson.loads(_body(history, 0, reasoning_effort="low"))
        assert list(body) == [
            "model",
            "messages",
            "stream",
            "stream_options",
            "temperature",
            "tools",
            "reasoning_effort",
        ]
        names = [tool["function"]["name"] for tool in body["tools"]]
        assert names == sorted(names) and {"read_file", "terminal"} <= set(names)
        assert body["messages"][0]["role"] == "system"
        assert history.filled == ("system prompt by profile zed", "tools by profile zed")
        assert RecordedHistory(trace, "zed").filled == ()
        whole = RecordedHistory(trace, "zed").request(
            0, {"model": "gemma", "parallel_tool_calls": True}, stream=False
        )
        assert list(orjson.loads(b"".join(whole.body))) == ["model", "messages", "stream", "temperature"]


def test_zed_cuts_schemas_to_its_subset() -> None:
    schema = {
        "$schema": "x",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": ["string", "null"], "format": "uri", "title": "T", "default": None},
            "kind": {"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "integer"}]},
            "size": {"type": ["integer", "string"], "exclusiveMinimum": 0, "description": "d"},
            "mode": {"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "description": "m"},
            "free": {"description": "anything"},
        },
        "required": ["title"],
        "$defs": {"Mode": {"type": "string", "enum": ["x", "y"]}},
    }
    tool = ToolSchema(name="b", description="d", parameters=schema, strict=True)
    other = ToolSchema(name="a", description="", parameters={"type": "object"})
    first, second = dialect("zed").tools(ToolSet(id="t", tools=(tool, other)))
    assert first["function"]["name"] == "a"
    function = second["function"]
    assert list(function) == ["name", "description", "parameters"]
    # Written out, because the order of keys counts.
    assert orjson.dumps(function["parameters"]).decode() == (
        '{"required":["title"],"type":"object","properties":{'
        '"title":{"type":"string","default":null,"title":"T","nullable":true},'
        '"kind":{"anyOf":[{"type":"string","enum":["a"]},{"type":"integer"}]},'
        '"size":{"description":"d","anyOf":[{"type":"integer"},{"type":"string"}]},'
        '"mode":{"description":"m","nullable":true,"type":"string","enum":["x","y"]},'
        '"free":{"description":"anything","type":"string"}}}'
    )
    assert schema["properties"]["title"]["format"] == "uri"  # type: ignore[index]


def test_claude_code_drops_thinking_before_the_last_question(tmp_path: Path) -> None:
    data = made.jsonl(made.claude_session())
    with _imported(tmp_path, "s.jsonl", data) as trace:
        history = RecordedHistory(trace, "claude-code", profile_name="claude-code")
        main = list(history.turns)
        assert history.messages(main[1])[2]["reasoning_content"] == "Look first"
        later = history.messages(main[2])
        assert "reasoning_content" not in later[2] and later[0]["role"] == "system"
        assert orjson.loads(_body(history, main[1]))["max_tokens"] == 32_000


def test_codex_sends_freeform_text_as_an_argument(tmp_path: Path) -> None:
    events = made.codex_session()
    del events[15]
    with _imported(tmp_path, "r.jsonl", made.jsonl(events)) as trace:
        history = RecordedHistory(trace, "codex", profile_name="codex")
        messages = history.messages(history.turns[-1])
        assert [message["role"] for message in messages[:3]] == ["system", "system", "user"]
        calls = [call for message in messages for call in message.get("tool_calls", ())]
        assert calls[-1]["function"]["arguments"] == '{"input":"*** Begin Patch"}'
        body = orjson.loads(_body(history, history.turns[0]))
        assert body["parallel_tool_calls"] is True and body["reasoning_effort"] == "high"
        assert history.filled == ("tools by profile codex",)


def test_filler_stands_in_for_a_system_prompt_of_a_size(tmp_path: Path) -> None:
    with _imported(tmp_path, "thread.json", orjson.dumps(made.zed_thread())) as trace:
        messages = RecordedHistory(trace, profile_name="filler:5000").messages(0)
        assert len(messages[0]["content"].split()) == 5000
        with pytest.raises(PlanError, match="N is the number of tokens"):
            RecordedHistory(trace, profile_name="filler:many")
        with pytest.raises(PlanError, match="did you mean 'claude-code'"):
            RecordedHistory(trace, profile_name="claudecode")


def test_every_dialect_says_what_it_changes() -> None:
    for name, kinds in DIALECTS.items():
        for wire, kind in kinds.items():
            assert kind.wire == wire and kind.changes
        assert name in {kind.name for kind in kinds.values()}


def test_the_prefix_analysis_shows_what_a_dialect_costs(tmp_path: Path) -> None:
    """The cache holds what the model wrote; a client that writes it in another way parts from it there."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "ls", "arguments": '{"path":  "' + "src/" * 60 + '"}'},
    }
    said = {"role": "assistant", "content": None, "reasoning_content": "Look first.", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
    ask = [{"role": "user", "content": "What is there?"}]
    path = tmp_path / "log.jsonl"
    lines = [
        {"request": {"model": "m", "messages": messages}, "response": {"choices": [{"message": reply}]}}
        for messages, reply in ((ask, said), ([*ask, said, result], made.DONE))
    ]
    path.write_bytes(made.jsonl(lines))
    [summary] = convert(path, tmp_path / "out")
    assert isinstance(summary, Summary)
    settings = Settings(block_size=1)
    found = {
        name: analyse(
            read_requests(Path(summary.trace), name),
            load_tokenizer("characters", lambda text: None),
            settings,
        )
        for name in DIALECTS
    }
    reused = {name: report.turns[1].ideal for name, report in found.items()}
    assert reused["zed"] < reused["openai-verbatim"] > reused["claude-code"]
    assert found["claude-code"].findings[1].cause == "arguments_reserialised"
    assert found["openai-verbatim"].findings[1].cause is None
