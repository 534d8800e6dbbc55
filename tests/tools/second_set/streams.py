"""Breaches that only a stream, or only a body, can hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tools.second_set.case import Case, Json, body, stream, warn

ROLE: Json = {"role": "assistant", "content": ""}


def piece(
    index: int | None, arguments: Any = None, name: str | None = None, call_id: str | None = None
) -> Json:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    item: Json = {"function": function}
    if index is not None:
        item["index"] = index
    if call_id is not None:
        item |= {"id": call_id, "type": "function"}
    return {"tool_calls": [item]}


def cases() -> Iterator[Case]:
    yield from _ids()
    yield from _indexes()
    yield from _protocol()
    yield from _bodies()


def _ids() -> Iterator[Case]:
    calls = "tool_calls"
    whole = '{"command": "ls"}'
    protocol = warn("protocol")
    yield stream(
        "new-id-every-delta", ROLE, piece(0, "", "Bash", "c1"), piece(0, '{"comm', None, "c2"),
        piece(0, 'and": "ls"}', None, "c3"), finish=calls, **protocol,
    )  # fmt: skip
    yield stream(
        "new-id-and-name-every-delta", ROLE, piece(0, "", "Bash", "c1"), piece(0, '{"comm', "Bash", "c2"),
        piece(0, 'and": "ls"}', "Bash", "c3"), finish=calls, **protocol,
    )  # fmt: skip
    yield stream(
        "new-id-every-delta-no-index", ROLE, piece(None, "", "Bash", "c1"), piece(None, '{"command"', "Bash", "c2"),
        piece(None, ': "ls"}', "Bash", "c3"), finish=calls, **warn("protocol", "bad_call_index"),
    )  # fmt: skip
    yield stream(
        "new-id-two-calls", ROLE, piece(0, "", "Bash", "c1"), piece(0, '{"comm', "Bash", "c2"), piece(0, 'and": "ls"}', "Bash", "c3"),
        piece(1, "", "Read", "d1"), piece(1, '{"file_path"', "Read", "d2"), piece(1, ': "/a"}', "Read", "d3"),
        finish=calls, **protocol,
    )  # fmt: skip
    yield stream("no-id", ROLE, piece(0, whole, "Bash"), finish=calls, **warn("bad_call_id"))
    yield stream("empty-id", ROLE, piece(0, whole, "Bash", ""), finish=calls, **warn("bad_call_id"))
    yield stream(
        "same-id-twice", ROLE, piece(0, whole, "Bash", "a"), piece(1, whole, "Bash", "a"), finish=calls,
        fatal={"bad_call_id": "parser"},
    )  # fmt: skip
    earlier = {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": whole}}
    history = [
        {"role": "user", "content": "List it."},
        {"role": "assistant", "content": None, "tool_calls": [earlier]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ]
    yield stream(
        "id-of-an-earlier-turn", ROLE, piece(0, whole, "Bash", "a"), finish=calls, request={"messages": history},
        **warn("bad_call_id"),
    )  # fmt: skip


def _indexes() -> Iterator[Case]:
    calls, index = "tool_calls", warn("bad_call_index")
    bash, read = '{"command": "ls"}', '{"file_path": "/a"}'
    yield stream(
        "all-index-0", ROLE, piece(0, bash, "Bash", "a"), piece(0, read, "Read", "b"), finish=calls, **index
    )
    yield stream("no-index", ROLE, piece(None, bash, "Bash", "a"), finish=calls, **index)
    yield stream("index-from-1", ROLE, piece(1, bash, "Bash", "a"), finish=calls, **index)
    yield stream(
        "index-skips", ROLE, piece(0, bash, "Bash", "a"), piece(2, read, "Read", "b"), finish=calls, **index
    )
    yield stream(
        "arguments-under-the-other", ROLE, piece(0, "", "Bash", "a"), piece(1, "", "Read", "b"),
        piece(0, bash + read), finish=calls, fatal={"bad_call_index": "parser"},
    )  # fmt: skip


def _protocol() -> Iterator[Case]:
    calls, protocol = "tool_calls", warn("protocol")
    bash = '{"command": "ls"}'
    engine = {"fatal": {"engine_error": "engine"}}
    yield stream(
        "arguments-as-object", ROLE, piece(0, {"command": "ls"}, "Bash", "a"), finish=calls, **protocol
    )
    late: list[Json] = [{"delta": {"content": "more"}, "finish_reason": None}]
    yield stream("text-after-finish", ROLE, {"content": "Done."}, after=late, **protocol)
    yield stream("call-before-role", piece(0, bash, "Bash", "a"), finish=calls, **protocol)
    yield stream(
        "name-in-two-pieces", ROLE, piece(0, "", "Ba", "a"), piece(0, bash, "sh"), finish=calls, **protocol
    )
    yield stream("no-done", ROLE, {"content": "Done."}, done=False, **protocol)
    yield stream("no-finish", ROLE, {"content": "Done."}, finish=None, **protocol)
    yield stream("broken-off", ROLE, {"content": "Do"}, finish=None, done=False, **engine)
    yield stream("broken-off-in-call", ROLE, piece(0, '{"com', "Bash", "a"), finish=None, done=False,
                 fatal={"engine_error": "engine"}, allowed=frozenset({"arguments_not_json"}))  # fmt: skip
    yield stream("calls-as-object", ROLE, {"tool_calls": {"name": "Bash"}}, finish="stop",
                 fatal={"protocol": "engine", "empty_turn": "unknown"})  # fmt: skip
    yield stream("nothing", finish=None, done=False, **engine)
    yield stream(
        "legacy",
        ROLE,
        {"function_call": {"name": "Bash", "arguments": bash}},
        finish="function_call",
        **protocol,
    )


def _bodies() -> Iterator[Case]:
    def message(**fields: Any) -> Json:
        reason = fields.pop("finish_reason", "stop")
        return {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": reason}],
        }

    call = {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": {"command": "ls"}}}
    yield body(
        "body-object-arguments",
        message(content=None, tool_calls=[call], finish_reason="tool_calls"),
        **warn("protocol"),
    )
    yield body("body-null", message(content=None), fatal={"empty_turn": "unknown"})
    yield body(
        "body-no-choices", {"object": "chat.completion", "choices": []}, fatal={"engine_error": "engine"}
    )
    yield body("body-refusal", message(content=None, refusal="I cannot help with that."), sound=True)
    yield body("body-parts", message(content=[{"type": "text", "text": "Done."}]), sound=True)

    def written(*tokens: str, content: str | None = None, calls: list[Json] | None = None) -> Json:
        answer = message(
            content=content,
            **({"tool_calls": calls} if calls else {}),
            finish_reason="tool_calls" if calls else "stop",
        )
        answer["choices"][0]["logprobs"] = {"content": [{"token": token} for token in tokens]}
        return answer

    text = ('<tool_call>\n{"name": "Bash", ', '"arguments": {"command": "ls', '"}}\n</tool_call>')
    sound = {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
    other = {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "rm"}'}}
    yield body("tokens-agree", written(*text, calls=[sound]), sound=True)
    yield body("tokens-repair", written(*text, calls=[other]), fatal={"silent_repair": "parser"})
    yield body(
        "tokens-drop", written(*text, content=""), fatal={"silent_drop": "parser", "empty_turn": "unknown"}
    )
