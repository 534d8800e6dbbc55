"""What the requests of one attempt at a session are made of, prepared before they are sent."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from replayer.lazy import dataclass
from replayer.requests.fields import asked_fields
from replayer.requests.lengths import Length
from replayer.requests.transform import Messages, Transform
from replayer.run.isolation import Isolation
from replayer.traces.schema import AnyItem
from replayer.wire.types import JsonObject, Request

if TYPE_CHECKING:
    from replayer.requests.history import RecordedHistory
    from replayer.run.lanes import Instance, Lane


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A turn that only has to be sent. `other` is the same request in the other mode (streamed or not)."""

    number: int
    """Its position in the session."""
    recorded_turn: int
    request: Request
    sha256: str
    fields: JsonObject
    recorded: tuple[AnyItem, ...]
    filler: bool
    """The prompt is words without meaning: nothing is asked of the answer but its length."""
    sent: JsonObject | None = None
    """For the journal: what of the messages the trace alone does not tell."""
    other: Request | None = None


@dataclass(slots=True)
class Prompts:
    """The requests of a session on a lane; `isolation` keeps its prompts out of other sessions' caches."""

    history: RecordedHistory
    lane: Lane
    instance: Instance
    max_tokens: int | None
    differential: bool = False
    transform: Transform | None = None
    isolation: Isolation = dataclasses.field(default_factory=Isolation)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lengths: Mapping[int, Length] = dataclasses.field(default_factory=dict)
    """Filler with which prompts have their exact lengths, by turn."""

    async def recorded(self, number: int, recorded_turn: int, **changed: object) -> PreparedTurn:
        """The turn with its recorded history, or with the messages that the plan's transform makes of it. `changed` are
        request fields that are asked otherwise than usual."""
        messages = await self.rewritten(partial(self._messages, recorded_turn))
        length = self.lengths.get(recorded_turn)
        fields = self.fields(recorded_turn) | changed

        def build(stream: bool) -> Request:
            if messages is not None:
                return self.history.build(recorded_turn, messages, _in_mode(fields, stream), stream=stream)
            return self.history.request(
                recorded_turn,
                _in_mode(fields, stream),
                marker=self.isolation.marker,
                stream=stream,
                length=length,
            )

        sent = dataclasses.asdict(length) if length else None
        return self._prepared(number, recorded_turn, fields, build, sent)

    def live(self, number: int, recorded_turn: int, messages: Messages, news: JsonObject) -> PreparedTurn:
        """The turn with the messages of a live conversation; `news` are those that the one before did not hold."""
        fields = self.fields(recorded_turn)

        def build(stream: bool) -> Request:
            return self.history.build(recorded_turn, messages, _in_mode(fields, stream), stream=stream)

        return self._prepared(number, recorded_turn, fields, build, news)

    async def rewritten(self, messages: Callable[[], Messages]) -> Messages | None:
        """The messages as the plan's transform writes them, once per request; None where there is none.

        In a thread: it is the user's code, and may start a program, while other replies are judged.
        """
        if self.transform is None:
            return None
        return await asyncio.to_thread(self.transform, [_plain(message) for message in messages()])

    def fields(self, recorded_turn: int) -> JsonObject:
        """What the recording asked for where it matters to the answer, and what the lane and the plan ask for."""
        own = asked_fields(self.history.trace.turns[recorded_turn], self.instance.engine.sampling_fields)
        engine = self.instance.engine
        lane = self.lane.plan.fields(self.lane.model, self.max_tokens, engine.request_fields())
        return own | lane | self.isolation.fields

    def _messages(self, recorded_turn: int) -> Messages:
        return self.history.messages(
            recorded_turn, marker=self.isolation.marker, length=self.lengths.get(recorded_turn)
        )

    def _prepared(
        self,
        number: int,
        recorded_turn: int,
        fields: JsonObject,
        build: Callable[[bool], Request],
        sent: JsonObject | None,
    ) -> PreparedTurn:
        stream = self.lane.plan.stream
        request = self._with_headers(build(stream))
        return PreparedTurn(
            number,
            recorded_turn,
            request,
            body_digest(request.body),
            fields,
            self.history.recorded(recorded_turn),
            self.history.trace.turns[recorded_turn].tokens is not None,
            sent,
            self._with_headers(build(not stream)) if self.differential else None,
        )

    def _with_headers(self, request: Request) -> Request:
        request.headers.update(self.headers)
        return request


def _in_mode(fields: JsonObject, stream: bool) -> JsonObject:
    """vLLM 0.21 refuses `stream_options` of a request that is not streamed; without them a stream has no usage."""
    if not stream:
        return {key: value for key, value in fields.items() if key != "stream_options"}
    return fields if "stream_options" in fields else {**fields, "stream_options": {"include_usage": True}}


def _plain(message: JsonObject) -> JsonObject:
    """A message without what only its wire knows."""
    return {key: value for key, value in message.items() if not key.startswith("_")}


def body_digest(pieces: Sequence[bytes | memoryview]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
