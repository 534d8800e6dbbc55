"""Requests of a thread, read as they grow: what a request has in common with the one before it is not read again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import orjson

from replayer.lazy import dataclass
from replayer.prefix.chatml import Rendered
from replayer.text import kept_json
from replayer.traces.wire_forms import chat_messages, wire_of
from replayer.traces.wire_view import cache_marks, chat_tools
from replayer.wire.types import JsonObject, Wire

_KEPT_BYTES = 64 << 20
"""Of the requests that are kept to be gone on from."""


class Digest:
    """Of a model, tools and messages; messages can be added."""

    def __init__(self, model: str, tools: bytes) -> None:
        self._hash = hashlib.blake2b(orjson.dumps(model) + tools, digest_size=16)

    def add(self, messages: list[bytes]) -> None:
        self._hash.update(b"".join(messages))

    @property
    def value(self) -> bytes:
        return self._hash.digest()


class Conversation:
    """A request as a chat template sees it. `messages` and `tools` are JSON, `fields` the rest of the body."""

    def __init__(self, wire: Wire, fields: JsonObject, tools: bytes) -> None:
        self.wire = wire
        self.fields = fields
        self.tools = tools
        self.messages: list[bytes] = []
        self.marks: tuple[str, ...] = ()
        """Where `cache_control` stands in the messages."""
        self.rendered = Rendered()
        self._digest: Digest | None = None
        self._digested = 0

    @property
    def digest(self) -> Digest:
        """Worked out where it is asked for: to look into all tools of a request costs a tenth of a millisecond."""
        if self._digest is None:
            self._digest = Digest(str(self.fields.get("model")), self.tools)
        self._digest.add(self.messages[self._digested :])
        self._digested = len(self.messages)
        return self._digest

    def add(self, messages: list[bytes]) -> None:
        self.messages += messages


@dataclass(slots=True)
class _Begun:
    """The last request of a thread: the text of its messages, and of everything around them."""

    around: bytes
    text: bytes
    found: Conversation


class GrowingRequests:
    """The last request of each thread. One that only adds messages to it costs what is new in it."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, _Begun] = OrderedDict()
        self._bytes = 0

    def read(self, thread: str, body: bytes, entries: slice | None = None) -> Conversation:
        """`entries`: where in the body its messages lie, between their brackets. What is returned grows with its
        thread."""
        begun = self._pop(thread)
        if entries is None:
            return conversation(orjson.loads(body))
        around, text = body[: entries.start] + body[entries.stop :], body[entries]
        if begun is None or not _goes_on(begun.text, text) or not _add(begun, around, text):
            found = conversation(orjson.loads(body))
            if found.wire != "chat":
                return found
            begun = _Begun(around, text, found)
        self._last[thread] = begun
        self._bytes += len(text)
        while self._bytes > _KEPT_BYTES:
            self._pop(next(iter(self._last)))
        return begun.found

    def ended(self, thread: str) -> None:
        """No further request of it will come."""
        self._pop(thread)

    def _pop(self, thread: str) -> _Begun | None:
        begun = self._last.pop(thread, None)
        self._bytes -= len(begun.text) if begun is not None else 0
        return begun


def conversation(request: JsonObject) -> Conversation:
    """A request, whichever wire it goes over."""
    wire = wire_of(request)
    fields = {key: value for key, value in request.items() if key not in ("messages", "input", "tools")}
    found = Conversation(wire, fields, kept_json(chat_tools(request, wire)))
    found.add([*map(kept_json, chat_messages(request, wire))])
    found.marks = cache_marks(request)
    return found


def _goes_on(before: bytes, text: bytes) -> bool:
    """Whether a list only grew: its text begins as before, and a comma follows."""
    return bool(before) and text.startswith(before) and text[len(before) : len(before) + 1] in (b",", b"")


def _add(begun: _Begun, around: bytes, text: bytes) -> bool:
    """Read what is new; False where it is not of chat, as all before was."""
    new = orjson.loads(b"[%b]" % text[len(begun.text) + 1 :])
    if wire_of({"messages": new}) != "chat":
        return False
    if around != begun.around:
        found, before = conversation(orjson.loads(around)), begun.found
        if found.wire != "chat":
            return False
        if (found.tools, found.fields.get("model")) == (before.tools, before.fields.get("model")):
            before.fields = found.fields
        else:
            found.add(before.messages)
            found.marks, begun.found = before.marks, found
    begun.around, begun.text = around, text
    begun.found.marks += cache_marks({"messages": new}, len(begun.found.messages))
    begun.found.add([kept_json(message) for message in new if isinstance(message, dict)])
    return True
