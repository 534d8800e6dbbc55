"""The chat request of each turn as it was recorded: exact where the recording holds its form, usual elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from replayer.traces.chat import STYLES, Message, definition, fill, standard
from replayer.traces.filler import blocks, filler
from replayer.traces.grouping import by_reply
from replayer.traces.reader import Trace
from replayer.traces.schema import ToolSet, Turn
from replayer.traces.sent_messages import SentMessages, sent_items
from replayer.traces.wire_view import viewed
from replayer.wire.types import Json, JsonObject, Wire


class RecordedRequests:
    """Requests of one trace, all threads, in the form of the dialect `openai-verbatim`."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._sent = SentMessages(trace)
        self._outputs: dict[int, list[tuple[int, ...]]] = {}
        for turn in trace.turns:
            if turn.produced:
                self._outputs.setdefault(turn.produced[0], []).append(turn.produced)

    def messages(self, turn: int) -> list[Message]:
        """As a chat template sees them."""
        found = [message for message in self._messages(turn) if message is not None]
        wire = sent_over(self.trace.turns[turn])
        return found if wire == "chat" else viewed(found, wire)

    def tools(self, turn: Turn) -> list[JsonObject]:
        """As a chat template sees them."""
        known = self.trace.tool_sets.get(turn.tool_set) if turn.tool_set else None
        if known is None:
            return []
        return tools_as_sent(known) if sent_over(turn) == "chat" else [definition(t) for t in known.tools]

    def request(self, turn: Turn, given: Mapping[str, Json]) -> JsonObject:
        """The whole body as a chat completion; `given` fields win over recorded ones."""
        values = {"messages": self.messages(turn.id), "tools": self.tools(turn)}
        if sent_over(turn) != "chat":
            turn = replace(turn, body=None)
        fields = fields_as_sent(turn, given, bool(values["tools"]))
        return {
            key: values[key] if key in values and value is None else value for key, value in fields.items()
        }

    def body(self, turn: Turn, given: Mapping[str, Json]) -> bytes:
        """The request in the spacing of its client."""
        style = turn.body.style if turn.body is not None else "compact"
        return STYLES[style](self.request(turn, given))

    def _messages(self, turn: int) -> Iterator[Message | None]:
        shape = self.trace.turns[turn].tokens
        if shape is not None:
            text = "".join(filler(*block) for block in blocks(shape, shape.input_tokens))
            yield {"role": "user", "content": text}
            return
        known = self._sent.of(turn)
        if known is None:
            items = sent_items([self.trace.item(number) for number in self.trace.context(turn)])
            yield from (standard(group) for group in by_reply(items, self._outputs))
            return
        for ids, form in known:
            items = [self.trace.item(number) for number in ids]
            yield fill(form, items) if form else standard(items)


def sent_over(turn: Turn) -> Wire:
    """The wire that the request of a turn was recorded on; chat where only its items are known."""
    return turn.body.wire if turn.body is not None else "chat"


def is_replayable(turn: Turn) -> bool:
    """A request that failed without an answer was sent again in the next turn, or led nowhere."""
    failed = turn.finish_reason == "error" and not turn.produced
    return not failed and bool(turn.tokens or turn.context.append or turn.context.base is not None)


def tools_as_sent(tools: ToolSet) -> list[JsonObject]:
    return tools.wire if isinstance(tools.wire, list) else [definition(tool) for tool in tools.tools]


def fields_as_sent(turn: Turn, given: Mapping[str, object], tools: bool) -> JsonObject:
    """The body's keys in recorded order, a given value before a recorded one, what is only given last.

    What items hold (`messages` or `input`, `system`, `tools` …) has the value None where it goes.
    """
    recorded: JsonObject = {"model": turn.model, **turn.params}
    if turn.body is None:
        first = {"model": given.get("model", turn.model), "messages": None} | (
            {"tools": None} if tools else {}
        )
        return first | {key: value for key, value in given.items() if key not in first}
    fields = {key: given.get(key, recorded.get(key)) for key in turn.body.keys}
    only_given = {key: value for key, value in given.items() if key not in fields}
    if only_given.get("stream") is False:
        del only_given["stream"]
    return fields | only_given
