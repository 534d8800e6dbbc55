"""Single requests put together into conversations: by session id where there is one, else by shared prefix.

Two requests belong together when they share the messages up to and including the first user message. Of several
conversations that began alike, a request goes on with the one whose last reply it repeats. A request that begins
otherwise opens a new conversation, or a thread of one whose call carries its first user text (a subagent), or goes on
with one whose last reply it begins with (a compaction).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import orjson

from replayer.traces.chat import Message
from replayer.traces.importers.chains import Chains
from replayer.traces.importers.exchange import Exchange
from replayer.traces.importers.values import as_dict, as_str, dicts, loads
from replayer.wire.types import JsonObject

_PROBE = 200
"""Characters of a text by which it is found in another."""
_SHORTEST_TASK = 12
_SHORTEST_SUMMARY = 60
_ALIKE = 256
"""Conversations of one beginning among which a request may choose; earlier ones are taken to be over."""
_SYSTEM = ("system", "developer")


@dataclass(slots=True, eq=False)
class Line:
    """One thread of a conversation while requests are sorted."""

    name: str
    members: list[int] = field(default_factory=list)
    parent_text: str | None = None
    asked: int = 0
    """Messages of the last request, without those of the system."""
    begun: int = 0
    """Messages of the first request."""
    replied: int | None = None
    """What the last reply says, as a number; None where none came."""
    first_reply: int | None = None
    said: str = ""
    failed: bool = True
    """The last request did not end well, or there was none."""
    offers_tools: bool = False
    ended: float | None = None

    def is_at(self, spoken: Sequence[Message]) -> bool:
        """Whether a request repeats this line's last reply where it stood."""
        return (
            self.replied is not None and self.asked < len(spoken) and gist(spoken[self.asked]) == self.replied
        )

    def took(self, number: int, exchange: Exchange, asked: int) -> None:
        reply = exchange.reply
        replied = gist(reply) if reply else None
        begins = not self.members or (self.failed and self.begun == asked)
        if begins:
            self.begun, self.first_reply = asked, replied
        self.members.append(number)
        self.asked, self.replied = asked, replied
        self.failed = reply is None or exchange.finish_reason == "error"
        self.said = _text(reply).strip()[:_PROBE] if reply else ""
        self.offers_tools = bool(exchange.request.get("tools"))
        self.ended = exchange.times.ended if exchange.times else None


@dataclass(slots=True, eq=False)
class Conversation:
    key: str
    title: str
    lines: list[Line] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def members(self) -> list[tuple[int, Line]]:
        return sorted(((number, line) for line in self.lines for number in line.members), key=itemgetter(0))

    def line(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)

    def open_line(self, name: str | None = None, parent_text: str | None = None) -> Line:
        """A new line; a name that is taken gets a number."""
        name = name or ("main" if not self.lines else f"thread-{len(self.lines) + 1}")
        if any(line.name == name for line in self.lines):
            name = f"{name}-{len(self.lines) + 1}"
        self.lines.append(Line(name, parent_text=parent_text))
        return self.lines[-1]


Place = tuple[Conversation, Line]
Opening = tuple[str | None, tuple[int, ...]]


class Sorter:
    """Assigns exchanges, in order, to conversations and threads; keeps digests of openings, not texts."""

    def __init__(self) -> None:
        self.conversations: list[Conversation] = []
        self._openings: dict[Opening, list[Place]] = {}
        self._asked: dict[Opening, list[Place]] = {}
        """As `_openings`, but whatever the system prompt is."""
        self._sessions: dict[str, Conversation] = {}
        self._begun = 0
        self._chains = Chains()

    def add(self, number: int, exchange: Exchange) -> tuple[Conversation, str]:
        """Assigns one exchange, whose request gets its whole history; returns its conversation and thread."""
        self._chains.write_out(exchange)
        messages = exchange.messages
        first = messages[: _first_user(messages) + 1]
        spoken = [message for message in messages if message.get("role") not in _SYSTEM]
        begun = sum(message.get("role") not in _SYSTEM for message in first)
        opening = (exchange.session, tuple(map(gist, first)))
        asked = (exchange.session, tuple(map(gist, spoken[:begun])))
        places = self._openings.setdefault(opening, [])
        if len(spoken) > begun:
            place = _continued(places, spoken, begun) or self._with_other_system(asked, spoken, exchange)
        else:
            place = _again(places, exchange, begun)
        place = place or self._open(exchange)
        for known in (places, self._asked.setdefault(asked, [])):
            if place not in known:
                known.append(place)
                del known[:-_ALIKE]
        conversation, line = place
        line.took(number, exchange, len(spoken))
        conversation.calls += _call_texts(exchange.reply)
        return conversation, line.name

    def forget(self, conversation: Conversation) -> None:
        """It is over: nothing goes on with it any more."""
        self.conversations.remove(conversation)
        self._sessions.pop(conversation.key, None)
        for table in (self._openings, self._asked):
            for opening, places in list(table.items()):
                places[:] = [place for place in places if place[0] is not conversation]
                if not places:
                    del table[opening]

    def _with_other_system(
        self, asked: Opening, spoken: Sequence[Message], exchange: Exchange
    ) -> Place | None:
        """A conversation that goes on under another system prompt, or a request beside it (that makes its title)."""
        if (found := _at(self._asked.get(asked, ()), spoken)) is None:
            return None
        conversation, line = found
        same = line.offers_tools == bool(exchange.request.get("tools"))
        return conversation, line if same else conversation.open_line()

    def _open(self, exchange: Exchange) -> Place:
        number = _first_user(exchange.messages)
        text = _text(exchange.messages[number]) if exchange.messages else ""
        if exchange.session is None and (before := self._compacted(text)):
            return before
        parent = self._sessions.get(exchange.session) if exchange.session else self._starter(text)
        if parent is None:
            self._begun += 1
            parent = Conversation(key=exchange.session or f"{self._begun}", title=text[:80])
            self.conversations.append(parent)
            if exchange.session:
                self._sessions[exchange.session] = parent
        return parent, parent.open_line(exchange.thread, text if parent.lines else None)

    def _compacted(self, text: str) -> Place | None:
        """The line whose last reply, a summary, stands in the text that begins a request."""
        for conversation in reversed(self.conversations):
            for line in conversation.lines:
                if len(line.members) > 1 and len(line.said) >= _SHORTEST_SUMMARY and line.said in text:
                    return conversation, line
        return None

    def _starter(self, text: str) -> Conversation | None:
        """The conversation one of whose calls carries the text that begins a subagent."""
        probe = orjson.dumps(text[:_PROBE]).decode()[1:-1]
        if len(probe) < _SHORTEST_TASK:
            return None
        return next((c for c in reversed(self.conversations) if any(probe in call for call in c.calls)), None)


def gist(message: Message) -> int:
    """A number for what a message says, in this process: equal where a client only writes it in another way.

    Reasoning, ids of calls, the spacing of arguments and marks for caches are not part of it.
    """
    content = message.get("content")
    role, calls = message.get("role"), dicts(message.get("tool_calls"))
    if isinstance(content, str) and not calls:
        return hash((role, content.strip()))
    functions = tuple(_function(as_dict(call.get("function"))) for call in calls)
    others = [part for part in dicts(content) if not isinstance(part.get("text"), str)]
    said = (role, _text(message).strip())
    return hash((*said, orjson.dumps(others) if others else b"", *functions) if others or functions else said)


def _function(function: JsonObject) -> tuple[str, bytes]:
    arguments = function.get("arguments")
    try:
        value = loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        value = arguments
    return as_str(function.get("name")), orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _continued(places: Sequence[Place], spoken: Sequence[Message], begun: int) -> Place | None:
    """The line that a request with a history goes on with, of those that began as it did."""
    if len(places) < 2:
        return next(iter(places), None)
    reply = gist(spoken[begun])
    like = [place for place in places if place[1].first_reply == reply]
    return _at(places, spoken) or (like or list(places))[-1]


def _at(places: Sequence[Place], spoken: Sequence[Message]) -> Place | None:
    return next((place for place in places if place[1].is_at(spoken)), None)


def _again(places: Sequence[Place], exchange: Exchange, asked: int) -> Place | None:
    """The line whose first request is sent once more.

    None where it has gone on since, or where both were under way at once: that is another conversation. A request
    that got no reply opens none.
    """
    if not places or exchange.reply is None:
        return next(reversed(places), None)
    failed = next((place for place in reversed(places) if place[1].failed and place[1].asked == asked), None)
    if failed is not None:
        return failed
    line = places[-1][1]
    started = exchange.times.started if exchange.times else None
    at_once = started is not None and line.ended is not None and started < line.ended
    return None if at_once or line.asked > asked else places[-1]


def _first_user(messages: Sequence[Message]) -> int:
    return next((n for n, message in enumerate(messages) if message.get("role") == "user"), len(messages) - 1)


def _text(message: Message) -> str:
    content = message.get("content")
    texts = (as_str(part.get("text")) for part in dicts(content))
    return content if isinstance(content, str) else "\n".join(texts)


def _call_texts(reply: Message | None) -> list[str]:
    functions = (as_dict(call.get("function")) for call in dicts(as_dict(reply).get("tool_calls")))
    return [as_str(function.get("arguments"))[:4000] for function in functions]
