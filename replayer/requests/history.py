"""Recorded mode: the exact request of each turn of a trace, built from pieces that all sessions share."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from itertools import islice

import orjson

from replayer.errors import TraceError
from replayer.lazy import Newest
from replayer.requests.byte_store import Span, Spool
from replayer.requests.dialects import HOME, Dialect, DialectName, dialect
from replayer.requests.dialects.given import asked_by, asked_on_another_wire
from replayer.requests.dialects.messages_api import as_messages_body
from replayer.requests.dialects.responses_api import as_responses_body, since_stored
from replayer.requests.layout import PROFILE_ITEM, Key, Layouts, Piece, join, with_mark
from replayer.requests.lengths import PAD, Length
from replayer.requests.profiles import Profile, profile
from replayer.traces.chat import STYLES, fill
from replayer.traces.filler import blocks, filler
from replayer.traces.reader import Trace
from replayer.traces.requests import is_replayable, sent_over
from replayer.traces.schema import AnyItem, SystemItem, TokenShape, ToolCallItem, ToolSet, Turn
from replayer.traces.trees import Line, trees
from replayer.traces.wire_forms import ASIDE, LIST_OF, chat_messages
from replayer.traces.wire_view import chat_tools
from replayer.wire.types import WIRES, JsonObject, Request, Wire

_MARK = "@@replayer-marker@@"
"""Stands for a session's marker while a message is written, to find the place of the marker in its bytes."""

_LAYOUTS_KEPT = 512


Layout = dict[str, list[memoryview | None]]
"""By field of the body: views of what goes there; None is the place of the marker."""


class RecordedHistory:
    """The requests of one thread of a trace, or of a tree of threads, as a dialect writes them.

    The bytes of each message are made once per history, kept in a memory-mapped temporary file, and shared by every
    request; share one history between all sessions of a trace. `filled` says what a profile stands in for.
    """

    def __init__(
        self,
        trace: Trace,
        dialect_name: DialectName | str = "openai-verbatim",
        thread: str | None = None,
        profile_name: str | None = None,
        wire: Wire = "chat",
    ) -> None:
        self.trace = trace
        self.wire = wire
        self._list = LIST_OF[wire]
        self.dialect: Dialect = dialect(dialect_name, wire)
        self._made_of = dialect_name, thread, profile_name
        self._siblings: dict[Wire, RecordedHistory] = {wire: self}
        self.thread = thread or _first_thread(trace)
        self.lines: tuple[Line, ...] = ()
        self.turns: tuple[int, ...] = ()
        self._outputs: dict[int, list[tuple[int, ...]]] = {}
        self._recorded_wire: Wire | None = None
        self._scan()
        self._profile = profile(profile_name, _called(trace)) if profile_name else None
        self.filled = _filled(trace, self._profile)
        self._spool = Spool()
        self._pieces: dict[Key, Piece | None] = {}
        self._recorded: Newest[int, tuple[AnyItem, ...]] = Newest(_LAYOUTS_KEPT)
        self._blocks: dict[tuple[int, int], Span] = {}
        self._layouts: Newest[tuple[int, Length | None], Layout] = Newest(_LAYOUTS_KEPT)
        self._tools: dict[str, bytes] = {}
        with_profile = self._profile is not None and self._lacks("system")
        self._messages = Layouts(
            trace, self.dialect, wire, self._outputs, self._piece, with_profile=with_profile
        )

    def over(self, choice: str | None) -> RecordedHistory:
        """The same thread over a wire, made once. `recorded` is the one that it was recorded on, or that its agent
        speaks; None is the one of its recorded requests, or the dialect's own."""
        own = self._recorded_wire or HOME.get(str(self._made_of[0]).partition(":")[0])
        if choice == "recorded":
            return self._on(own or HOME.get(self.trace.header.agent or "", "chat"))
        return self._on(next((wire for wire in WIRES if wire == choice), own or "chat"))

    def _on(self, wire: Wire) -> RecordedHistory:
        if wire not in self._siblings:
            dialect_name, thread, profile_name = self._made_of
            made = RecordedHistory(self.trace, dialect_name, thread, profile_name, wire)
            made.lines, made.turns, made._siblings = self.lines, self.turns, self._siblings
            self._siblings[wire] = made
        return self._siblings[wire]

    @property
    def is_filler(self) -> bool:
        """The trace holds lengths and no words."""
        return self.trace.turns[self.turns[0]].tokens is not None

    def recorded(self, turn: int) -> tuple[AnyItem, ...]:
        """What the recording produced at this turn."""
        found = self._recorded.get(turn)
        if found is None:
            found = tuple(self.trace.item(number) for number in self.trace.turns[turn].produced)
            self._recorded[turn] = found
        return found

    def messages(
        self, turn: int, *, marker: str | None = None, length: Length | None = None
    ) -> list[JsonObject]:
        """The messages of the request as a chat template sees them; the caller may change them."""
        parts = self._parts(turn, marker, length)
        body = {key: orjson.loads(b"".join(pieces)) for key, pieces in parts.items()}
        return chat_messages(body, self.wire)

    def tools(self, turn: int) -> list[JsonObject]:
        """Tool definitions as a chat template sees them; empty where neither trace nor profile has any."""
        return chat_tools({"tools": self.wire_tools(turn)}, self.wire)

    def wire_tools(self, turn: int) -> list[JsonObject]:
        """Tool definitions as sent at this turn."""
        raw = self._tools_json(self.trace.turns[turn])
        parsed: list[JsonObject] = orjson.loads(raw) if raw else []
        return parsed

    def tool_set(self, turn: int) -> ToolSet | None:
        """What the turn offers: the recording's tools, or those of the profile where it has none."""
        return self._tool_set(self.trace.turns[turn])

    def tool_sets(self) -> tuple[ToolSet, ...]:
        """All tool sets that the turns can offer."""
        filled = self._profile.tools if self._profile is not None and self._lacks("tools") else None
        return (*self.trace.tool_sets.values(), *((filled,) if filled else ()))

    def request(
        self,
        turn: int,
        fields: Mapping[str, object],
        *,
        marker: str | None = None,
        stream: bool = True,
        length: Length | None = None,
    ) -> Request:
        """The request of a turn. `fields` are model, sampling and the like; `marker` ends the first user message, or
        decides the first block of a prompt of filler, whose length `length` may change."""
        record = self.trace.turns[turn]
        tools = self._tools_json(record)
        write, spaced = STYLES[_style(record)], _style(record).startswith("spaced")
        comma, colon = (b", ", b": ") if spaced else (b",", b":")
        pieces: list[bytes | memoryview] = []
        parts, entries = self._parts(turn, marker, length), None
        text = b"{"
        for key, value in self._fields(record, fields, stream, bool(tools)).items():
            if value is None and key in ASIDE and key not in parts and key not in record.params:
                continue
            text += (b"" if text == b"{" else comma) + write(key) + colon
            if key in parts:
                pieces.append(text)
                if key == self._list and parts[key][0] == b"[":
                    begin = sum(map(len, pieces)) + 1
                    entries = slice(begin, begin + sum(map(len, parts[key])) - 2)
                pieces += parts[key]
                text = b""
            elif key == "tools" and tools:
                text += tools
            else:
                text += write(value)
        pieces.append(text + b"}")
        return Request(pieces, stream, dict(self.dialect.headers), self.wire, entries)

    def build(
        self, turn: int, messages: list[JsonObject], fields: Mapping[str, object], *, stream: bool
    ) -> Request:
        """A request whose chat messages are not the recorded ones, with the fields and tools that the turn has."""
        record, tools = self.trace.turns[turn], self.wire_tools(turn)
        values: JsonObject = {"tools": tools}
        if self.dialect.keeps_state and (stored := since_stored(messages))[0]:
            fields, messages = {**fields, "previous_response_id": stored[0]}, list(stored[1])
        if self.wire == "chat":
            values["messages"] = [{k: v for k, v in m.items() if not k.startswith("_")} for m in messages]
        elif self.wire == "messages":
            values["system"], values["messages"] = as_messages_body(messages)
        else:
            values["instructions"], values["input"] = as_responses_body(messages)
        body = self._fields(record, fields, stream, bool(tools))
        filled = {key: values.get(key) or value if key in values else value for key, value in body.items()}
        kept = {k: v for k, v in filled.items() if v is not None or k not in ASIDE}
        return Request(
            [orjson.dumps(kept)], stream=stream, wire=self.wire, headers=dict(self.dialect.headers)
        )

    def _fields(self, turn: Turn, fields: Mapping[str, object], stream: bool, tools: bool) -> JsonObject:
        """The body's keys in order. What the recording itself asked for is in it as recorded."""
        given = {**fields, "stream": stream}
        if sent_over(turn) != self.wire:
            given = (asked_on_another_wire(turn) if turn.body is not None else {}) | given
        elif self.wire != "chat":
            asked = asked_by(turn)
            given = {k: v for k, v in given.items() if k not in asked or asked[k] != v}
        return self.dialect.fields(turn, given, tools)

    def _scan(self) -> None:
        found = []
        for turn in self.trace.turns:
            if turn.thread == self.thread and is_replayable(turn):
                found.append(turn.id)
            if self._recorded_wire is None and turn.body is not None:
                self._recorded_wire = turn.body.wire
            if turn.produced:
                self._outputs.setdefault(turn.produced[0], []).append(turn.produced)
        if not found:
            known = ", ".join(sorted({turn.thread for turn in self.trace.turns})) or "none"
            raise TraceError(
                f"{self.trace.path}: thread {self.thread!r} has no turn to replay (threads: {known})"
            )
        self.turns = tuple(found)
        self.lines = (Line(self.thread, self.turns),)

    @classmethod
    def trees(
        cls,
        trace: Trace,
        dialect_name: DialectName | str = "openai-verbatim",
        profile_name: str | None = None,
    ) -> list[RecordedHistory]:
        """One history for each tree of the trace (a main thread with its subagents), all over the same bytes."""
        found = []
        base: RecordedHistory | None = None
        for tree in trees(trace):
            base = base or cls(trace, dialect_name, tree.root, profile_name)
            one = copy.copy(base)
            one.thread, one.lines, one.turns = tree.root, tree.lines, tree.turns
            one._made_of, one._siblings = (dialect_name, tree.root, profile_name), {one.wire: one}
            found.append(one)
        return found or [cls(trace, dialect_name, None, profile_name)]

    def line(self, turn: int) -> Line:
        """The thread of the tree that the turn belongs to."""
        thread = self.trace.turns[turn].thread
        return next(line for line in self.lines if line.thread == thread)

    def before(self, turn: int) -> int | None:
        """The turn before this one in its thread."""
        turns = self.line(turn).turns
        place = turns.index(turn)
        return turns[place - 1] if place else None

    def following(self, turn: int) -> int | None:
        """The turn after this one in its thread."""
        turns = self.line(turn).turns
        place = turns.index(turn) + 1
        return turns[place] if place < len(turns) else None

    def _parts(
        self, turn: int, marker: str | None, length: Length | None
    ) -> dict[str, list[bytes | memoryview]]:
        """The JSON of each field that holds messages, in pieces."""
        key = turn, length
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = self._layout(turn, length)
        else:
            self._layouts.move_to_end(key)
        mark = self._mark(turn, marker, length)
        found: dict[str, list[bytes | memoryview]] = {}
        for field, views in layout.items():
            pieces = [mark if piece is None else piece for piece in views]
            if field.startswith("="):
                found[field[1:]] = pieces
            else:
                found[field] = [b"[", *pieces, b"]"]
        return found

    def _mark(self, turn: int, marker: str | None, length: Length | None) -> bytes:
        """What stands at the marker's place: the marker, or a first block of filler that no other marker gives."""
        shape = self.trace.turns[turn].tokens
        if shape is None:
            return orjson.dumps(marker)[1:-1] if marker is not None else b""
        block = shape.block_hashes[0] if shape.block_hashes else -1
        length = length or Length(shape.input_tokens)
        words = min(length.words, length.block or shape.block_size)
        return filler(block if marker is None else f"{marker}/{block}", words).encode()

    def _layout(self, turn: int, length: Length | None) -> Layout:
        """Views of the messages, neighbours joined into one. A field that holds no list begins with `=`."""
        record = self.trace.turns[turn]
        if record.tokens is not None:
            spans: list[Span | None] = []
            for span in self._token_spans(record.tokens, length or Length(record.tokens.input_tokens)):
                spans.append(None) if span is None else join(spans, span)
            found = {self._list: spans}
        else:
            found = self._messages.of(record)
            if f"={self._list}" not in found:
                found.setdefault(self._list, [])
        return {
            field: [None if span is None else self._spool.view(span) for span in spans]
            for field, spans in found.items()
        }

    def _token_spans(self, shape: TokenShape, length: Length) -> Iterator[Span | None]:
        """One user message of filler, equal where block hashes are equal. The first block stands at the marker's place:
        it costs no token to tell a session's prompts apart, and what follows it is shared by no cache."""
        yield self._block((-1, 0), '{"role":"user","content":"')
        yield None
        yield from (
            self._block(block) for block in islice(blocks(shape, length.words, length.block), 1, None)
        )
        if length.pads:
            yield self._block((-1, -length.pads), PAD * length.pads)
        yield self._block((-1, 1), '"}')

    def _block(self, key: tuple[int, int], text: str | None = None) -> Span:
        if key not in self._blocks:
            self._blocks[key] = self._spool.put((filler(*key) if text is None else text).encode())
        return self._blocks[key]

    def _piece(self, key: Key) -> Piece | None:
        if key not in self._pieces:
            self._pieces[key] = self._write(key)
        return self._pieces[key]

    def _write(self, key: Key) -> Piece | None:
        items = [self._item(number) for number in key.ids]
        marked = with_mark(items[-1], _MARK)
        items[-1] = marked or items[-1]
        message = fill(key.form, items) if key.form else self.dialect.message(items)
        if message is None:
            return None
        field = self._list
        if (name := next(iter(message), "")) in ASIDE and len(message) == 1:
            field, message = f"={name}", message[name]
        elif key.ends:
            message = self.dialect.last(message)
        comma = b", " if key.style.startswith("spaced") else b","
        text = comma + STYLES[key.style](message)
        before, mark, after = text.rpartition(_MARK.encode()) if marked else (text, b"", b"")
        span = self._spool.put(before + after)
        return Piece(span, span.begin + len(before) if mark else None, field)

    def _item(self, number: int) -> AnyItem:
        if number == PROFILE_ITEM and self._profile is not None:
            return SystemItem(id=number, text=self._profile.system)
        return self.trace.item(number)

    def _lacks(self, aspect: str) -> bool:
        return bool(getattr(self.trace.header.fidelity, aspect) == "absent")

    def _tools_json(self, turn: Turn) -> bytes:
        tools = self._tool_set(turn)
        if tools is None:
            return b""
        if tools.id not in self._tools:
            definitions = self.dialect.tools(tools)
            self._tools[tools.id] = STYLES[_style(turn)](definitions) if definitions else b""
        return self._tools[tools.id]

    def _tool_set(self, turn: Turn) -> ToolSet | None:
        if turn.tool_set is None:
            return self._profile.tools if self._profile is not None and self._lacks("tools") else None
        known = self.trace.tool_sets.get(turn.tool_set)
        if known is None:
            raise TraceError(
                f"{self.trace.path}: turn {turn.id} names tool set {turn.tool_set!r}, which is absent"
            )
        return known


def _filled(trace: Trace, given: Profile | None) -> tuple[str, ...]:
    if given is None:
        return ()
    fidelity = trace.header.fidelity
    found = [("system prompt", fidelity.system), ("tools", fidelity.tools if given.tools else "recorded")]
    return tuple(f"{what} by profile {given.name}" for what, state in found if state == "absent")


def _called(trace: Trace) -> frozenset[str]:
    return frozenset(item.name for item in trace.items() if isinstance(item, ToolCallItem))


def _first_thread(trace: Trace) -> str:
    """`main`, or the thread of the first turn where there is none of that name."""
    names = dict.fromkeys(turn.thread for turn in trace.turns)
    return "main" if "main" in names or not names else next(iter(names))


def _style(turn: Turn) -> str:
    return turn.body.style if turn.body is not None else "compact"
