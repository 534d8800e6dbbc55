"""Requests of Messages and Responses as the chat requests that the simulated engine answers, as real adapters do."""

from __future__ import annotations

from collections.abc import Mapping

from replayer.lazy import Newest
from replayer.simulated.kinds.base import JSON, Answer
from replayer.tools.verdicts.request_facts import tool_choice_of
from replayer.traces.wire_forms import LIST_OF, chat_messages
from replayer.traces.wire_view import chat_tools
from replayer.wire.types import Json, JsonObject, Wire

PATHS: dict[str, Wire] = {
    "/v1/chat/completions": "chat",
    "/v1/messages": "messages",
    "/v1/responses": "responses",
}
COUNTS: dict[str, Wire] = {"/v1/messages/count_tokens": "messages", "/v1/responses/input_tokens": "responses"}
"""Endpoints that count the tokens of a request."""
_SHARED = ("model", "stream", "temperature", "top_p", "seed", "cache_salt", "cache_prompt", "max_tokens")


def as_chat(body: Json, wire: Wire) -> Json:
    """The chat body; anything that is not a request of the wire stays what it is, and is refused as chat's would be."""
    if wire == "chat" or not isinstance(body, dict):
        return body
    found = {key: body[key] for key in _SHARED if key in body}
    if "max_output_tokens" in body:
        found["max_tokens"] = body["max_output_tokens"]
    if body.get(LIST_OF[wire]):
        found["messages"] = chat_messages(body, wire)
    if body.get("tools"):
        found["tools"] = chat_tools(body, wire)
    if "tool_choice" in body:
        found["tool_choice"] = tool_choice_of(body["tool_choice"])
    if found.get("stream"):
        found["stream_options"] = {"include_usage": True}
    return found


class Stored:
    """Conversations by response id, so that a request may go on from one; the newest 256 of them."""

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self._items: Newest[str, list[Json]] = Newest(256)

    def whole(self, body: Json) -> Json:
        """The request with all the input that it stands for; None where what it goes on from is not stored."""
        before = body.get("previous_response_id") if isinstance(body, Mapping) else None
        if not before:
            return body
        known = self._items.get(str(before))
        return None if known is None else {**body, "input": [*known, *_as_items(body.get("input"))]}

    def keep(self, body: Json, response: JsonObject) -> None:
        if self._keeps and body.get("store", True):
            self._items[response["id"]] = [*_as_items(body.get("input")), *response["output"]]


def _as_items(given: Json) -> list[Json]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given or ())


def not_stored(body: Mapping[str, Json]) -> Answer:
    """The refusal of a request that goes on from a response that is not stored, as vLLM words it."""
    message = f"Response with id '{body['previous_response_id']}' not found."
    error = {"message": message, "type": "invalid_request_error", "param": "response_id", "code": 404}
    return 404, JSON, {"error": error}


def custom_tools(body: object) -> frozenset[str]:
    """The tools of a request whose calls hold text instead of JSON."""
    tools = body.get("tools") if isinstance(body, Mapping) else None
    return frozenset(
        str(tool.get("name"))
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict) and tool.get("type") == "custom"
    )


def error_on(wire: Wire, answer: Answer) -> Answer:
    """An error in the form of its wire: Messages has an envelope of its own, the others OpenAI's."""
    status, _, body = answer
    if wire != "messages" or not isinstance(body, dict):
        return answer
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else body.get("message") or error
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
    kinds |= {429: "rate_limit_error", 503: "overloaded_error"}
    stated = {"type": kinds.get(status, "api_error"), "message": message or ""}
    return status, JSON, {"type": "error", "error": stated}
