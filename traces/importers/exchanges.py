"""Logs of single requests, put together into conversations: by session id where there is one, else by shared prefix.

Two requests belong together when they share the messages up to and including the first user message. A request that
begins otherwise opens a new conversation, or a thread of one whose call carries its first user text (a subagent).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from replayer.traces.chat import STYLES, Message, definition, split, tool_schemas
from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.values import as_dict, as_int, as_str, dicts
from replayer.traces.schema import AnyItem, Body, Thread, Times, Usage

_NOT_PARAMS = frozenset({"messages", "tools", "model"})


@dataclass(slots=True)
class Exchange:
    """One request and its reply. `request` is the body as sent; `raw` its bytes where they are known."""

    request: dict[str, Any]
    reply: Message | None = None
    session: str | None = None
    usage: Usage | None = None
    times: Times | None = None
    finish_reason: str | None = None
    model: str | None = None
    raw: bytes | None = None
    notes: tuple[str, ...] = ()
    thread: str | None = None
    messages: list[Message] = field(init=False)

    def __post_init__(self) -> None:
        self.messages = dicts(self.request.get("messages"))


def usage_of(value: Any) -> Usage | None:
    """OpenAI's usage: `prompt_tokens` includes what was cached."""
    raw = as_dict(value)
    if not raw:
        return None
    cached = as_int(as_dict(raw.get("prompt_tokens_details")).get("cached_tokens"))
    return Usage(
        prompt_tokens=as_int(raw.get("prompt_tokens")),
        cached_tokens=cached,
        completion_tokens=as_int(raw.get("completion_tokens")),
        reasoning_tokens=as_int(as_dict(raw.get("completion_tokens_details")).get("reasoning_tokens")),
        raw=raw,
    )


def from_response(exchange: Exchange, response: dict[str, Any]) -> Exchange:
    """Fills in the reply of a chat completion."""
    choice = next(iter(dicts(response.get("choices"))), {})
    message = as_dict(choice.get("message"))
    exchange.reply = message or exchange.reply
    exchange.finish_reason = as_str(choice.get("finish_reason")) or exchange.finish_reason
    exchange.usage = usage_of(response.get("usage")) or exchange.usage
    exchange.model = as_str(response.get("model")) or exchange.model
    return exchange


@dataclass(slots=True)
class _Line:
    """One thread of a conversation while requests are sorted."""

    name: str
    members: list[int] = field(default_factory=list)
    parent_text: str | None = None


@dataclass(slots=True)
class Conversation:
    key: str
    title: str
    lines: list[_Line] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def members(self) -> list[tuple[int, _Line]]:
        return sorted(
            ((number, line) for line in self.lines for number in line.members), key=lambda pair: pair[0]
        )


class Sorter:
    """Assigns exchanges, in order, to conversations and threads; keeps digests of openings, not texts."""

    def __init__(self) -> None:
        self.conversations: list[Conversation] = []
        self._openings: dict[tuple[str | None, tuple[int, ...]], tuple[Conversation, _Line]] = {}
        self._sessions: dict[str, Conversation] = {}

    def add(self, number: int, exchange: Exchange) -> tuple[Conversation, str]:
        """Assigns one exchange; returns its conversation and thread."""
        first = exchange.messages[: _first_user(exchange.messages) + 1]
        opening = (exchange.session, tuple(map(digest, first)))
        if opening not in self._openings:
            self._openings[opening] = self._open(exchange)
        conversation, line = self._openings[opening]
        line.members.append(number)
        conversation.calls += _call_texts(exchange.reply)
        return conversation, line.name

    def _open(self, exchange: Exchange) -> tuple[Conversation, _Line]:
        text = _text(exchange.messages, _first_user(exchange.messages))
        parent = self._sessions.get(exchange.session) if exchange.session else self._starter(text)
        if parent is None:
            parent = Conversation(key=exchange.session or f"{len(self.conversations) + 1}", title=text[:80])
            self.conversations.append(parent)
            if exchange.session:
                self._sessions[exchange.session] = parent
        name = exchange.thread or ("main" if not parent.lines else f"thread-{len(parent.lines) + 1}")
        if any(line.name == name for line in parent.lines):
            name = f"{name}-{len(parent.lines) + 1}"
        line = _Line(name, parent_text=text if parent.lines else None)
        parent.lines.append(line)
        return parent, line

    def _starter(self, text: str) -> Conversation | None:
        """The conversation one of whose calls carries the text that begins a subagent."""
        probe = orjson.dumps(text[:200]).decode()[1:-1]
        if len(probe) < 12:
            return None
        return next((c for c in reversed(self.conversations) if any(probe in call for call in c.calls)), None)


def sessions(sorter: Sorter, load: Callable[[int], Exchange], agent: str | None = None) -> Iterator[Session]:
    """One session per conversation; `load` gives an exchange again by its number."""
    for conversation in sorter.conversations:
        yield Session(_writer(conversation, load, agent), name=conversation.key, title=conversation.title)


def _writer(
    conversation: Conversation, load: Callable[[int], Exchange], agent: str | None
) -> Callable[[Builder], None]:
    def write(builder: Builder) -> None:
        builder.describe(agent=agent)
        recorder = ExchangeWriter(builder)
        for number, line in conversation.members:
            recorder.write(load(number), line.name, line.parent_text)

    return write


class ExchangeWriter:
    """Writes exchanges of one conversation as turns whose requests can be rebuilt exactly."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[int, tuple[tuple[int, ...], str]] = {}
        self._texts: list[tuple[str, int]] = []
        self._tool_sets: dict[bytes, str | None] = {}

    def write(self, exchange: Exchange, thread: str = "main", parent_text: str | None = None) -> int:
        builder = self.builder
        if thread != "main":
            builder.thread(Thread(id=thread, parent="main", parent_call=self._parent_call(parent_text)))
        messages = [self._message(message) for message in exchange.messages]
        produced = [self._add(item) for item in split(exchange.reply)[0]] if exchange.reply else []
        for note in exchange.notes:
            builder.warn(note)
        self._note_fidelity(exchange)
        return builder.chat_turn(
            messages,
            produced,
            thread=thread,
            tool_set=self._tools(exchange),
            model=as_str(exchange.request.get("model")) or exchange.model,
            params={k: v for k, v in exchange.request.items() if k not in _NOT_PARAMS or not _is_held(k, v)},
            usage=exchange.usage,
            times=exchange.times,
            finish_reason=exchange.finish_reason,
            body=self._body(exchange),
        )

    def _message(self, message: Message) -> tuple[tuple[int, ...], str]:
        key = digest(message)
        if key not in self._known:
            items, form = split(message)
            self._known[key] = (tuple(self._add(item) for item in items), form)
        return self._known[key]

    def _add(self, item: AnyItem) -> int:
        number = self.builder.add(item)
        if item.kind == "tool_call":
            self._texts.append((item.arguments, number))
        return number

    def _parent_call(self, text: str | None) -> int | None:
        probe = orjson.dumps((text or "")[:200]).decode()[1:-1]
        return next(
            (n for arguments, n in reversed(self._texts) if len(probe) >= 12 and probe in arguments), None
        )

    def _tools(self, exchange: Exchange) -> str | None:
        offered = exchange.request.get("tools")
        if not _is_held("tools", offered):
            return None
        written = orjson.dumps(offered)
        if written not in self._tool_sets:
            schemas = tool_schemas(offered)
            usual = orjson.dumps([definition(tool) for tool in schemas])
            self._tool_sets[written] = self.builder.tools(schemas, wire=None if usual == written else offered)
        return self._tool_sets[written]

    def _body(self, exchange: Exchange) -> Body | None:
        """Order of keys, and the spacing that gives the recorded bytes again."""
        keys = tuple(exchange.request)
        if "messages" not in keys:
            return None
        if exchange.raw is None:
            return Body(keys=keys)
        for style, write in STYLES.items():
            if write(exchange.request) == exchange.raw:
                return Body(keys=keys, style=style)  # type: ignore[arg-type]
        self.builder.warn(
            "a request was written in an unusual form; replayed, it is equal as JSON but not in bytes"
        )
        return Body(keys=keys)

    def _note_fidelity(self, exchange: Exchange) -> None:
        if any(message.get("role") in ("system", "developer") for message in exchange.messages):
            self.builder.fidelity(system="recorded")
        if exchange.request.get("tools"):
            self.builder.fidelity(tools="recorded")
        if exchange.usage is not None:
            self.builder.fidelity(usage="recorded")
        if exchange.times is not None:
            self.builder.fidelity(timing="recorded")


def _is_held(key: str, value: Any) -> bool:
    """Whether a turn has a place of its own for a field; an odd value (`tools` null or empty) is kept as it came."""
    if key == "tools":
        return isinstance(value, list) and bool(value)
    return key == "messages" or isinstance(value, str)


def digest(message: Message) -> int:
    """A number that stands for a message, order of keys included, in this process."""
    if set(map(type, message.values())) == {str}:
        return hash(tuple(message.items()))
    return hash(orjson.dumps(message))


def _first_user(messages: Sequence[Message]) -> int:
    return next((n for n, message in enumerate(messages) if message.get("role") == "user"), len(messages) - 1)


def _text(messages: Sequence[Message], number: int) -> str:
    content = messages[number].get("content") if 0 <= number < len(messages) else ""
    if isinstance(content, str):
        return content
    return "\n".join(as_str(part.get("text")) for part in dicts(content))


def _call_texts(reply: Message | None) -> list[str]:
    functions = (as_dict(call.get("function")) for call in dicts(as_dict(reply).get("tool_calls")))
    return [as_str(function.get("arguments"))[:4000] for function in functions]
