"""One recorded request and its reply, however a log wrote them."""

from __future__ import annotations

from dataclasses import dataclass, field

from replayer.traces.chat import Message, message_of
from replayer.traces.importers.values import as_dict, as_int, as_str, dicts, opt_str
from replayer.traces.schema import AnyItem, Provenance, Times, Usage
from replayer.traces.wire_forms import chat_messages, entries, produced, wire_of
from replayer.traces.wire_view import Entry
from replayer.wire.counts import cached_tokens
from replayer.wire.types import JsonObject, Reply, Wire


@dataclass(slots=True)
class Exchange:
    """One request and its reply. `request` is the body as sent; `raw` its bytes where they are known."""

    request: JsonObject
    reply: Message | None = None
    session: str | None = None
    usage: Usage | None = None
    times: Times | None = None
    finish_reason: str | None = None
    model: str | None = None
    raw: bytes | None = None
    notes: tuple[str, ...] = ()
    thread: str | None = None
    aspects: dict[str, Provenance] = field(default_factory=dict)
    """Where the source holds less than its format at best."""
    wire: Wire | None = None
    """The API that it went over; None: as the request shows."""
    produced: list[AnyItem] | None = None
    """The items of a reply of Messages or Responses."""
    response_id: str | None = None
    """Under which a server of Responses may have stored the reply."""
    output: tuple[JsonObject, ...] = ()
    """The reply of Responses as a client sends it back."""
    messages: list[Message] = field(init=False)
    """As a chat template sees them."""

    def __post_init__(self) -> None:
        self.set_wire(self.wire or wire_of(self.request))

    def set_wire(self, wire: Wire) -> None:
        self.wire = wire
        self.messages = chat_messages(self.request, wire)

    def entries(self) -> list[Entry]:
        """The messages as they were sent."""
        return entries(self.request, self.wire or "chat")


def usage_of(value: object, source: object = None) -> Usage | None:
    """OpenAI's usage: `prompt_tokens` includes what was cached. `source` is the form that the API gave."""
    raw = as_dict(value)
    if not raw:
        return None
    return Usage(
        prompt_tokens=as_int(raw.get("prompt_tokens")),
        cached_tokens=cached_tokens(raw),
        completion_tokens=as_int(raw.get("completion_tokens")),
        reasoning_tokens=as_int(as_dict(raw.get("completion_tokens_details")).get("reasoning_tokens")),
        cache_write_tokens=as_int(as_dict(raw.get("prompt_tokens_details")).get("cache_write_tokens")),
        raw=raw if source is None else as_dict(source),
    )


def from_response(exchange: Exchange, response: JsonObject) -> Exchange:
    """Fills in the reply of a chat completion."""
    choice = next(iter(dicts(response.get("choices"))), {})
    message = as_dict(choice.get("message"))
    exchange.reply = message or exchange.reply
    exchange.finish_reason = as_str(choice.get("finish_reason")) or exchange.finish_reason
    exchange.usage = usage_of(response.get("usage")) or exchange.usage
    exchange.model = as_str(response.get("model")) or exchange.model
    return exchange


def from_reply(exchange: Exchange, reply: Reply) -> Exchange:
    """Fills in a reply that the wire assembled."""
    model = reply.extra.get("model")
    exchange.reply = message_of(reply)
    exchange.finish_reason = reply.finish_reason
    exchange.usage = usage_of(reply.usage, reply.extra.get("usage") if reply.wire != "chat" else None)
    if reply.wire != "chat":
        exchange.set_wire(reply.wire)
        exchange.produced = produced(reply)
        exchange.response_id, exchange.output = opt_str(reply.extra.get("id")), reply.output
    exchange.model = model if isinstance(model, str) else None
    return exchange
