"""What all imitated kinds share; a subclass holds what its captures show to be particular."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from replayer.simulated.token_bytes import encode, ids, render
from replayer.wire.types import Json, JsonObject

if TYPE_CHECKING:
    from replayer.simulated.counters import Counts, State

Answer = tuple[int, str, Json]
"""Status, content type, body (text, or data to be sent as JSON)."""
Rows = list[tuple[str, str, str, float]]
"""A metrics page: name, type, labels, value."""

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4"

STATUS = {
    "unauthorized": 401,
    "unknown_model": 404,
    "too_long": 400,
    "bad_json": 400,
    "bad_request": 400,
    "bad_tools": 400,
    "bad_history": 400,
    "overloaded": 429,
    "unavailable": 503,
    "server_error": 500,
    "not_found": 404,
}
"""The kinds of error that a simulated engine answers with."""


class Kind:
    """The dialect of one kind of engine. A `ticket` is the seeded 128-bit number of a request."""

    name: ClassVar[str] = "openai"
    server: ClassVar[str] = "uvicorn"
    owner: ClassVar[str] = "simulated"
    reasoning_field: ClassVar[str] = "reasoning_content"
    unknown_model_is_error: ClassVar[bool] = True
    rejects_bad_history: ClassVar[bool] = False
    ignores_tools: ClassVar[bool] = False
    """Without a template that renders tools, they are dropped without a word."""
    refuses_stream_options: ClassVar[str] = ""
    """The words that refuse `stream_options` of a request that is not streamed."""
    needs_parser: ClassVar[str] = ""
    """The words that refuse automatic tool choice without a parser; empty where the call stays in the text."""
    error_bodies: ClassVar[dict[str, JsonObject]] = {"not_found": {"detail": "Not Found"}}
    """Errors with a body of their own; all others have a message and a type."""
    error_words: ClassVar[dict[str, str]] = {}
    error_types: ClassVar[dict[str, str]] = {}

    def __init__(self, state: State) -> None:
        self.state = state
        self.spec = state.spec

    def request_id(self, ticket: UUID) -> str:
        return f"chatcmpl-{ticket.hex[:16]}"

    def call_id(self, ticket: UUID, number: int) -> str:
        """Another one for every call of a reply, different in its first digits too: kinds show only those."""
        own = UUID(int=(ticket.int * 31 + (number + 1) * (2**127 // 999_983)) % 2**128)
        return f"call_{own.hex[:24]}"

    # Streamed

    def base(self, request_id: str, model: str) -> JsonObject:
        return {
            "id": request_id,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }

    def chunk(self, base: JsonObject, delta: JsonObject, finish: str | None) -> JsonObject:
        return base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def role(self) -> JsonObject:
        return {"role": "assistant", "content": ""}

    def text(self, channel: str, text: str) -> JsonObject:
        return {self.reasoning_field if channel == "reasoning" else "content": text}

    def call(self, index: int, call_id: str | None, name: str | None, arguments: object) -> JsonObject:
        function = {"name": name, "arguments": arguments}
        return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}

    def arguments(self, index: int, text: str) -> JsonObject:
        return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}

    def finish_reason(self, reason: str) -> str:
        return reason

    def last(self, base: JsonObject, finish: str, counts: Counts, wants_usage: bool) -> JsonObject:
        return self.chunk(base, {}, finish)

    def usage_chunk(self, base: JsonObject, counts: Counts) -> JsonObject:
        return base | {"choices": [], "usage": self.usage(counts)}

    def usage(self, counts: Counts, *, stream: bool = True) -> JsonObject:
        usage: JsonObject = {
            "prompt_tokens": counts.prompt,
            "total_tokens": counts.prompt + counts.completion,
            "completion_tokens": counts.completion,
        }
        details = self.details(counts, stream)
        return usage if details == "absent" else usage | {"prompt_tokens_details": details}

    def details(self, counts: Counts, stream: bool) -> JsonObject | str | None:
        """`prompt_tokens_details`: None is null, "absent" leaves the key out."""
        return {"cached_tokens": counts.cached} if self.spec.report_cached else None

    # Whole

    def message(self, content: str, reasoning: str, calls: list[JsonObject]) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": content}
        if reasoning:
            message[self.reasoning_field] = reasoning
        return message | ({"tool_calls": calls} if calls else {})

    def completion(self, base: JsonObject, message: JsonObject, finish: str, counts: Counts) -> JsonObject:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"usage": self.usage(counts, stream=False)}
        return base | {"object": "chat.completion", "choices": [choice]} | usage

    def error(self, kind: str, message: str, **values: object) -> Answer:
        """`kind` is a key of STATUS; `too_long` comes with `size` and `limit`, `unknown_model` with `model`."""
        status = STATUS[kind]
        if kind in self.error_bodies:
            return status, JSON, self.error_bodies[kind]
        message = self.error_words.get(kind, "{message}").format(
            message=message, served=self.spec.model, **values
        )
        usual = "BadRequestError" if status < 500 else "InternalServerError"
        name = self.error_types.get(kind, usual)
        error = {"object": "error", "message": message, "type": name, "param": None, "code": status}
        return status, JSON, error

    # Other endpoints

    def endpoints(self) -> list[str]:
        """What /openapi.json lists; empty where a kind has no such document."""
        return []

    def get(self, path: str) -> Answer | None:
        if path == "/v1/models":
            names = (self.spec.model, *self.spec.lora)
            return 200, JSON, {"object": "list", "data": [self.model_entry(name) for name in names]}
        if path == "/health":
            return 200, TEXT, ""
        if path == "/metrics" and self.spec.report_metrics:
            return 200, PROMETHEUS, self.metrics()
        return None

    def post(self, path: str, body: JsonObject) -> Answer | None:
        return None

    def tokenized(self, body: JsonObject) -> list[int]:
        """The tokens of a text, or of a rendered chat."""
        text = body.get("prompt")
        return ids(encode(text) if text else render(body.get("messages") or [], body.get("tools")))

    def model_entry(self, name: str) -> JsonObject:
        return {
            "id": name,
            "object": "model",
            "created": int(self.state.started),
            "owned_by": self.owner,
            "root": self.spec.model,
            "parent": self.spec.model if name in self.spec.lora else None,
            "max_model_len": self.spec.context_length,
        }

    def metrics(self) -> str:
        raise NotImplementedError


def page(rows: Rows) -> str:
    """A metrics page in Prometheus text."""
    lines: dict[str, None] = {}
    for name, kind, labels, value in rows:
        sample = f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"
        lines |= dict.fromkeys((f"# HELP {name} Simulated.", f"# TYPE {name} {kind}", sample))
    return "\n".join(lines) + "\n"
