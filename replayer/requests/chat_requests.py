"""The chat requests of a native trace or of a JSON-lines file, one after the other, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.requests.transform import Transform
from replayer.traces.chat import message_of, standard
from replayer.traces.importers.exchange import usage_of
from replayer.traces.reader import Trace
from replayer.traces.schema import TokenShape, Usage
from replayer.traces.wire_forms import chat_messages, wire_of
from replayer.traces.wire_view import cache_marks, chat_tools
from replayer.wire.reply import assemble
from replayer.wire.types import JsonObject, Wire

_HOLDERS = ("request", "body")
"""Keys that a recorder puts around the request's body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request as it was sent, and what is known of its answer. Messages and tools are JSON bytes.

    `scope` names what separates caches: another model or cache salt shares nothing. `salt` is that part of it which
    clients choose (vLLM's `cache_salt`).
    """

    key: str
    messages: tuple[bytes, ...] = ()
    tools: bytes = b"[]"
    reply: bytes | None = None
    usage: Usage | None = None
    scope: str = ""
    salt: str = ""
    tokens: TokenShape | None = None
    marks: tuple[str, ...] = ()
    """Where `cache_control` stands in its messages."""


def transformed(requests: Iterable[ChatRequest], transform: Transform) -> Iterator[ChatRequest]:
    """Requests as a context manager rewrites them; each sees the original messages, as in a replay."""
    for request in requests:
        messages = transform([orjson.loads(message) for message in request.messages])
        yield replace(request, messages=tuple(orjson.dumps(message) for message in messages))


def read_requests(path: Path, dialect: str = "openai-verbatim") -> Iterator[ChatRequest]:
    """Requests in the order in which they were sent. Raises TraceError naming file and line."""
    return _from_trace(path, dialect) if _is_trace(path) else _from_lines(path)


def _is_trace(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(256)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None
    return head.startswith((b'{"type":"trace"', b"\x28\xb5\x2f\xfd")) or b'"trace_id"' in head


def _from_trace(path: Path, dialect: str) -> Iterator[ChatRequest]:
    with Trace.open(path) as trace:
        histories: dict[str, tuple[RecordedHistory, frozenset[int]]] = {}
        for turn in trace.turns:
            if turn.tokens is not None:
                yield ChatRequest(
                    key=str(turn.id),
                    tokens=turn.tokens,
                    usage=_reported_usage(turn.usage),
                    scope=turn.model or "",
                )
                continue
            if turn.thread not in histories:
                opened = RecordedHistory(trace, dialect, turn.thread)
                histories[turn.thread] = opened, frozenset(opened.turns)
            history, turns = histories[turn.thread]
            if turn.id not in turns:
                continue
            # As the engine generated it: what a dialect makes of it in the next request is what it costs.
            reply = standard(history.recorded(turn.id)) if turn.produced else None
            yield ChatRequest(
                key=str(turn.id),
                messages=tuple(orjson.dumps(message) for message in history.messages(turn.id)),
                tools=orjson.dumps(history.tools(turn.id)),
                reply=orjson.dumps(reply) if reply else None,
                usage=_reported_usage(turn.usage),
            )


def _reported_usage(usage: Usage | None) -> Usage | None:
    """A recording that says nothing of cached tokens is not an engine that does not report them."""
    return usage if usage is not None and usage.cached_tokens is not None else None


def _from_lines(path: Path) -> Iterator[ChatRequest]:
    number = 0
    with path.open("rb") as file:
        for line, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                value = orjson.loads(text)
            except orjson.JSONDecodeError as error:
                raise TraceError(f"{path}: line {line} is not JSON ({error})") from None
            for entry in value if isinstance(value, list) else [value]:
                yield _request(entry, str(number), f"{path}: line {line}")
                number += 1
    if not number:
        raise TraceError(f"{path}: the file holds no request")


def _request(entry: Any, key: str, where: str) -> ChatRequest:
    body = entry
    for holder in _HOLDERS:
        if isinstance(entry, dict) and isinstance(entry.get(holder), dict):
            body = entry[holder]
    wire = wire_of(body) if isinstance(body, dict) else "chat"
    messages = _messages(body, where) if wire == "chat" else chat_messages(body, wire)
    answer = entry.get("response") if isinstance(entry.get("response"), dict) else {}
    answer = answer.get("body", answer) if isinstance(answer.get("body"), dict) else answer
    tools = body.get("tools") or [] if wire == "chat" else chat_tools(body, wire)
    if wire != "chat":
        answer = _as_chat(answer, wire)
    return ChatRequest(
        key=key,
        messages=tuple(orjson.dumps(message) for message in messages),
        tools=orjson.dumps(tools),
        reply=_reply(answer),
        usage=usage_of(answer.get("usage") or entry.get("usage")),
        scope=str(body.get("model") or ""),
        salt=str(body.get("cache_salt") or ""),
        marks=cache_marks(body) if isinstance(body, dict) else (),
    )


def _as_chat(answer: JsonObject, wire: Wire) -> JsonObject:
    """A whole answer of Messages or Responses as a chat completion."""
    if not answer:
        return {}
    reply = assemble(orjson.dumps(answer), stream=False, wire=wire)
    return {"choices": [{"message": message_of(reply)}], "usage": reply.usage}


def _messages(body: Any, where: str) -> Sequence[JsonObject]:
    messages = body.get("messages") if isinstance(body, dict) else None
    if messages is None and isinstance(body, dict) and isinstance(body.get("prompt"), str):
        return [{"role": "user", "content": body["prompt"]}]
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise TraceError(f'{where} is not a chat request: it needs "messages", a list of objects')
    system = body.get("system")
    return [{"role": "system", "content": system}, *messages] if system else messages


def _reply(answer: JsonObject) -> bytes | None:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    return orjson.dumps(message) if isinstance(message, dict) else None
