"""Logs of single requests as turns whose requests can be rebuilt exactly (`sorting` puts them into conversations)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import orjson

from replayer.text import kept_json
from replayer.traces.chat import STYLES, Message, definition, split, tool_schemas
from replayer.traces.importers.base import Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.chains import Chains
from replayer.traces.importers.exchange import Exchange
from replayer.traces.importers.sorting import Conversation, Sorter
from replayer.traces.importers.values import as_str
from replayer.traces.records import parse_arguments
from replayer.traces.schema import AnyItem, Body, Thread, ToolCallItem
from replayer.traces.wire_forms import ASIDE, LIST_OF, split_entry
from replayer.wire.types import Wire

_NOT_PARAMS = frozenset({"messages", "tools", "model", *ASIDE})


def conversations(exchanges: list[Exchange]) -> Iterator[Session]:
    """Sessions of exchanges in any order that are all in memory."""
    exchanges.sort(key=lambda e: (e.times.started if e.times else None) or 0.0)
    sorter = Sorter()
    for number, exchange in enumerate(exchanges):
        sorter.add(number, exchange)
    return sessions(sorter, exchanges.__getitem__)


def sessions(sorter: Sorter, load: Callable[[int], Exchange | None]) -> Iterator[Session]:
    """One session per conversation; `load` gives an exchange again by its number."""
    for conversation in sorter.conversations:
        yield Session(partial(_write, conversation, load), name=conversation.key, title=conversation.title)


def _write(conversation: Conversation, load: Callable[[int], Exchange | None], builder: Builder) -> None:
    recorder, chains = ExchangeWriter(builder), Chains()
    for number, line in conversation.members:
        exchange = load(number)
        assert exchange is not None
        chains.write_out(exchange)
        recorder.write(exchange, line.name, line.parent_text)


class ExchangeWriter:
    """Writes exchanges of one conversation as turns whose requests can be rebuilt exactly."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[tuple[Wire, int], tuple[tuple[int, ...], str]] = {}
        self._texts: list[tuple[str, int]] = []
        self._calls: dict[str, tuple[int, ToolCallItem]] = {}
        self._tool_sets: dict[bytes, str | None] = {}

    def write(self, exchange: Exchange, thread: str = "main", parent_text: str | None = None) -> int:
        builder = self.builder
        if thread != "main":
            builder.thread(Thread(id=thread, parent="main", parent_call=self._parent_call(parent_text)))
        wire = exchange.wire or "chat"
        messages = [self._message(entry, wire) for entry in exchange.entries()]
        items = exchange.produced
        if items is None:
            items = split(exchange.reply)[0] if exchange.reply else []
        produced = [self._add(item) for item in items]
        for note in exchange.notes:
            builder.warn(note)
        if exchange.times is not None:
            builder.fidelity(timing="recorded")
        builder.fidelity(**exchange.aspects)
        return builder.chat_turn(
            messages,
            produced,
            thread=thread,
            tool_set=self._tools(exchange),
            model=as_str(exchange.request.get("model")) or exchange.model,
            params={
                k: v for k, v in exchange.request.items() if k not in _NOT_PARAMS or not _is_held(k, v, wire)
            },
            usage=exchange.usage,
            times=exchange.times,
            finish_reason=exchange.finish_reason,
            body=self._body(exchange),
        )

    def _message(self, message: Message, wire: Wire) -> tuple[tuple[int, ...], str]:
        key = wire, digest(message)
        if key not in self._known:
            items, form = split_entry(message, wire)
            self._known[key] = (tuple(self._add(item, wire) for item in items), form)
        return self._known[key]

    def _add(self, item: AnyItem, wire: Wire = "chat") -> int:
        if wire == "messages" and item.kind == "tool_call" and (number := self._same_call(item)) is not None:
            return number
        number = self.builder.add(item)
        if item.kind == "tool_call":
            self._texts.append((item.arguments, number))
            self._calls[item.call_id] = (number, item)
        return number

    def _same_call(self, item: ToolCallItem) -> int | None:
        """The call that the engine wrote, where a block repeats it: it holds the value, not the text."""
        number, known = self._calls.get(item.call_id, (None, item))
        same = (
            known.name == item.name
            and orjson.dumps(parse_arguments(known.arguments)) == item.arguments.encode()
        )
        return number if same else None

    def _parent_call(self, text: str | None) -> int | None:
        probe = orjson.dumps((text or "")[:200]).decode()[1:-1]
        return next(
            (n for arguments, n in reversed(self._texts) if len(probe) >= 12 and probe in arguments), None
        )

    def _tools(self, exchange: Exchange) -> str | None:
        offered = exchange.request.get("tools")
        if not _is_held("tools", offered, "chat"):
            return None
        written = kept_json(offered)
        if written not in self._tool_sets:
            schemas = tool_schemas(offered)
            usual = orjson.dumps([definition(tool) for tool in schemas])
            self._tool_sets[written] = self.builder.tools(schemas, wire=None if usual == written else offered)
        return self._tool_sets[written]

    def _body(self, exchange: Exchange) -> Body | None:
        """Order of keys, and the spacing that gives the recorded bytes again."""
        keys = tuple(exchange.request)
        wire = exchange.wire or "chat"
        if LIST_OF[wire] not in keys:
            return None
        if exchange.raw is None:
            return Body(keys=keys, wire=wire)
        for style, write in STYLES.items():
            if write(exchange.request) == exchange.raw:
                return Body(keys=keys, style=style, wire=wire)  # type: ignore[arg-type]
        self.builder.warn(
            "a request was written in an unusual form; replayed, it is equal as JSON but not in bytes"
        )
        return Body(keys=keys, wire=wire)


def _is_held(key: str, value: object, wire: Wire) -> bool:
    """Whether a turn has a place of its own for a field; an odd value (`tools` null or empty) is kept as it came."""
    if key == "tools":
        return isinstance(value, list) and bool(value)
    if key == LIST_OF[wire]:
        return isinstance(value, (str, list))
    if key == "system":
        return wire == "messages" and isinstance(value, (str, list))
    return isinstance(value, str) and (key == "model" or (key == "instructions" and wire == "responses"))


def digest(message: Message) -> int:
    """A number that stands for a message, order of keys included, in this process."""
    if set(map(type, message.values())) == {str}:
        return hash(tuple(message.items()))
    return hash(orjson.dumps(message))
