"""Recorded mode: the exact request of each turn of a trace, built from pieces that all sessions share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from replayer.dialects import Dialect, DialectName, dialect
from replayer.errors import TraceError
from replayer.spool import Span, Spool
from replayer.traces.chat import STYLES, fill
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AnyItem,
    AssistantItem,
    Context,
    ReasoningItem,
    ToolCallItem,
    Turn,
    UserItem,
)
from replayer.wire.types import Request

_MARK = "@@replayer-marker@@"
"""Stands for a session's marker while a message is written, to find the place of the marker in its bytes."""

_LAYOUTS_KEPT = 512


class Key(NamedTuple):
    """One message: the ids of its items and, where recorded, its form; `style` is the spacing of its JSON."""

    ids: tuple[int, ...]
    form: str = ""
    style: str = "compact"


class RecordedHistory:
    """The requests of one thread of a trace, as a dialect writes them.

    The bytes of each message are made once per history, kept in a memory-mapped temporary file, and shared by every
    request; share one history between all sessions of a trace.
    """

    def __init__(
        self,
        trace: Trace,
        dialect_name: DialectName | str = "openai-verbatim",
        thread: str | None = None,
        profile: None = None,
    ) -> None:
        self.trace = trace
        self.dialect: Dialect = dialect(dialect_name)
        self.thread = thread or _first_thread(trace)
        self.turns: tuple[int, ...] = ()
        self._outputs: dict[int, list[tuple[int, ...]]] = {}
        self._scan()
        self._spool = Spool()
        self._pieces: dict[Key, Span | None] = {}
        self._marked: dict[Key, int] = {}
        self._layouts: OrderedDict[int, list[memoryview | None]] = OrderedDict()
        self._tools: dict[str, bytes] = {}
        self._sent: OrderedDict[int, list[Sent] | None] = OrderedDict()

    def recorded(self, turn: int) -> tuple[AnyItem, ...]:
        """What the recording produced at this turn."""
        return tuple(self.trace.item(number) for number in self.trace.turns[turn].produced)

    def messages(self, turn: int, *, marker: str | None = None) -> list[dict[str, Any]]:
        """The messages of the request as parsed OpenAI messages; the caller may change them."""
        parsed: list[dict[str, Any]] = orjson.loads(b"".join(self._array(turn, marker)))
        return parsed

    def tools(self, turn: int) -> list[dict[str, Any]]:
        """OpenAI tool definitions as sent at this turn; empty where the trace has none."""
        raw = self._tools_json(self.trace.turns[turn])
        parsed: list[dict[str, Any]] = orjson.loads(raw) if raw else []
        return parsed

    def request(
        self, turn: int, fields: Mapping[str, Any], *, marker: str | None = None, stream: bool = True
    ) -> Request:
        """The request of a turn. `fields` are model, sampling and the like; `marker` ends the first user message."""
        record = self.trace.turns[turn]
        tools = self._tools_json(record)
        write, comma, colon = (
            STYLES[_style(record)],
            _comma(record),
            b":" if _comma(record) == b"," else b": ",
        )
        pieces: list[bytes | memoryview] = []
        text = b"{"
        for key, value in self.dialect.fields(record, {**fields, "stream": stream}, bool(tools)).items():
            text += (b"" if text == b"{" else comma) + write(key) + colon
            if key == "messages":
                pieces += [text, *self._array(turn, marker)]
                text = b""
            elif key == "tools":
                text += tools
            else:
                text += write(value)
        pieces.append(text + b"}")
        return Request(pieces, stream=stream)

    def _scan(self) -> None:
        found = []
        for turn in self.trace.turns:
            if turn.thread == self.thread and (turn.tokens or self._has_context(turn)):
                found.append(turn.id)
            if turn.produced:
                self._outputs.setdefault(turn.produced[0], []).append(turn.produced)
        if not found:
            known = ", ".join(sorted({turn.thread for turn in self.trace.turns})) or "none"
            raise TraceError(
                f"{self.trace.path}: thread {self.thread!r} has no turn to replay (threads: {known})"
            )
        self.turns = tuple(found)

    @staticmethod
    def _has_context(turn: Turn) -> bool:
        return bool(turn.context.append) or turn.context.base is not None

    def _array(self, turn: int, marker: str | None) -> list[bytes | memoryview]:
        """The JSON array of messages in pieces."""
        layout = self._layouts.get(turn)
        if layout is None:
            layout = self._layouts[turn] = self._layout(turn)
            if len(self._layouts) > _LAYOUTS_KEPT:
                self._layouts.popitem(last=False)
        else:
            self._layouts.move_to_end(turn)
        mark = orjson.dumps(marker)[1:-1] if marker is not None else b""
        return [b"[", *(mark if piece is None else piece for piece in layout), b"]"]

    def _layout(self, turn: int) -> list[memoryview | None]:
        """Views of the messages, neighbours joined into one; None is the place of the marker."""
        spans: list[Span | None] = []
        for key in self._keys(turn):
            span = self._piece(key)
            if span is None:
                continue
            if not spans:
                span = span._replace(begin=span.begin + (1 if key.style.startswith("compact") else 2))
            if key in self._marked and None not in spans:
                cut = self._marked[key]
                _join(spans, span._replace(end=cut))
                spans.append(None)
                span = span._replace(begin=cut)
            _join(spans, span)
        return [None if span is None else self._spool.view(span) for span in spans]

    def _keys(self, turn: int) -> Iterator[Key]:
        """The messages of a turn: as recorded where that is known, else a run of assistant items per reply."""
        style = _style(self.trace.turns[turn])
        known = self._messages_as_sent(turn) if self.dialect.exact else None
        if known is not None:
            yield from (Key(ids, form, style) for ids, form in known)
            return
        items = list(self.dialect.arrange([self.trace.item(number) for number in self.trace.context(turn)]))
        position = 0
        while position < len(items):
            end = self._group_end(items, position)
            yield Key(tuple(item.id for item in items[position:end]), style=style)
            position = end

    def _messages_as_sent(self, turn: int) -> list[Sent] | None:
        """Item ids and form of every message, where the trace knows the cut of each context on the way here."""
        chain: list[Turn] = []
        number: int | None = turn
        while number is not None and number not in self._sent:
            chain.append(self.trace.turns[number])
            number = chain[-1].context.base
        for current in reversed(chain):
            self._sent[current.id] = _as_cut(current.context, self._sent)
            if len(self._sent) > _LAYOUTS_KEPT:
                self._sent.popitem(last=False)
        return self._sent[turn]

    def _group_end(self, items: Sequence[AnyItem], begin: int) -> int:
        if not _from_model(items[begin]):
            return begin + 1
        end = begin
        while end < len(items) and _from_model(items[end]):
            reply = self._reply_at(items, end)
            if reply and end > begin:
                return end
            end += max(1, reply)
            if reply:
                return end
        return end

    def _reply_at(self, items: Sequence[AnyItem], begin: int) -> int:
        """Length of the longest recorded reply that starts here; 0 when there is none."""
        longest = 0
        for output in self._outputs.get(items[begin].id, ()):
            if len(output) > longest and output == tuple(i.id for i in items[begin : begin + len(output)]):
                longest = len(output)
        return longest

    def _piece(self, key: Key) -> Span | None:
        """The bytes of a message after a comma."""
        if key not in self._pieces:
            self._pieces[key] = self._write(key)
        return self._pieces[key]

    def _write(self, key: Key) -> Span | None:
        items = [self.trace.item(number) for number in key.ids]
        first = items[0]
        if isinstance(first, UserItem):
            items = [_with_mark(first), *items[1:]]
        message = fill(key.form, items) if key.form else self.dialect.message(items)
        if message is None:
            return None
        comma = b"," if key.style.startswith("compact") else b", "
        text = comma + STYLES[key.style](message)
        before, mark, after = (
            text.rpartition(_MARK.encode()) if isinstance(first, UserItem) else (text, b"", b"")
        )
        span = self._spool.put(before + after)
        if mark:
            self._marked[key] = span.begin + len(before)
        return span

    def _tools_json(self, turn: Turn) -> bytes:
        if turn.tool_set is None:
            return b""
        if turn.tool_set not in self._tools:
            known = self.trace.tool_sets.get(turn.tool_set)
            if known is None:
                raise TraceError(
                    f"{self.trace.path}: turn {turn.id} names tool set {turn.tool_set!r}, which is absent"
                )
            definitions = self.dialect.tools(known)
            self._tools[turn.tool_set] = STYLES[_style(turn)](definitions) if definitions else b""
        return self._tools[turn.tool_set]


Sent = tuple[tuple[int, ...], str]


def _as_cut(context: Context, before: Mapping[int, list[Sent] | None]) -> list[Sent] | None:
    """A context as messages: those kept of its base, then its own. None where either is not known."""
    if context.append and not context.forms:
        return None
    kept: list[Sent] = []
    size = 0
    for ids, form in (before[context.base] or ()) if context.base is not None else ():
        if size + len(ids) > context.keep:
            break
        kept.append((ids, form))
        size += len(ids)
    if size != (context.keep if context.base is not None else 0):
        return None
    position = 0
    for count, form in context.forms:
        kept.append((context.append[position : position + count], form))
        position += count
    return kept if position == len(context.append) else None


def _first_thread(trace: Trace) -> str:
    """`main`, or the thread of the first turn where there is none of that name."""
    names = dict.fromkeys(turn.thread for turn in trace.turns)
    return "main" if "main" in names or not names else next(iter(names))


def _style(turn: Turn) -> str:
    return turn.body.style if turn.body is not None else "compact"


def _comma(turn: Turn) -> bytes:
    return b"," if _style(turn).startswith("compact") else b", "


def _join(spans: list[Span | None], span: Span) -> None:
    """Appends a span, as part of the last one where it follows that in the spool."""
    last = spans[-1] if spans else None
    if last is not None and (last.segment, last.end) == (span.segment, span.begin):
        spans[-1] = last._replace(end=span.end)
    else:
        spans.append(span)


def _from_model(item: AnyItem) -> bool:
    return isinstance(item, AssistantItem | ReasoningItem | ToolCallItem)


def _with_mark(item: UserItem) -> UserItem:
    if isinstance(item.content, str):
        return UserItem(id=item.id, content=item.content + _MARK)
    parts = list(item.content)
    texts = [n for n, part in enumerate(parts) if part.get("type") == "text"]
    if not texts:
        return item
    parts[texts[-1]] = {**parts[texts[-1]], "text": str(parts[texts[-1]].get("text", "")) + _MARK}
    return UserItem(id=item.id, content=tuple(parts))
