"""Which APIs a server speaks beside chat completions, and what it reports on each."""

from __future__ import annotations

import httpx
import orjson

from replayer.engines.base import Tristate
from replayer.engines.http_client import http_client
from replayer.engines.json_values import parsed, section
from replayer.wire.client import WireClient
from replayer.wire.counts import cached_tokens
from replayer.wire.types import JsonObject, Reply, Request, Wire

_ASK = [{"role": "user", "content": "Say hi."}]
_SECONDS = 20


async def probe_wires(
    client: WireClient, base_url: str, model: str, api_key: str | None
) -> dict[str, Tristate]:
    """Sends five tiny requests; what a wire that the server lacks would report is left out."""
    found: dict[str, Tristate] = {}
    messages = await client.chat(_messages(model))
    found["messages"] = _works(messages)
    if found["messages"] == "yes":
        again = await client.chat(_messages(model))
        found["messages_cached_tokens"] = "yes" if _cached(again) is not None else "no"
    found["count_tokens"] = await _counts(base_url, model, api_key)
    responses = await client.chat(_responses(model))
    found["responses"] = _works(responses)
    if found["responses"] == "yes":
        found["responses_usage"] = "yes" if responses.usage else "no"
        late = any(note.code == "no_deltas" for note in responses.notes)
        found["responses_stream"] = "no" if late else "yes"
        stored = await client.chat(_responses(model, previous_response_id=responses.extra.get("id")))
        found["stored_responses"] = _works(stored)
    return found


NOTES = {
    "messages_cached_tokens": "it reports no cached tokens on /messages: judge its prefix cache by its metrics, or over chat",
    "responses_usage": "its /responses reports no usage: token counts and speeds are unknown on that wire",
    "responses_stream": "its /responses sends the whole reply in one event: it has no time to first token there",
    "stored_responses": "it keeps no responses: a client that sends previous_response_id is refused",
}


def _request(body: JsonObject, wire: Wire) -> Request:
    headers = {"anthropic-version": "2023-06-01"} if wire == "messages" else {}
    return Request([orjson.dumps({**body, "stream": True})], wire=wire, headers=headers)


def _messages(model: str) -> Request:
    return _request({"model": model, "max_tokens": 4, "messages": _ASK}, "messages")


def _responses(model: str, **more: object) -> Request:
    return _request({"model": model, "max_output_tokens": 16, "input": "Say hi.", **more}, "responses")


def _works(reply: Reply) -> Tristate:
    if reply.fault is None:
        return "yes"
    return "unknown" if reply.fault.kind in ("overloaded", "timeout", "unauthorized") else "no"


def _cached(reply: Reply) -> object:
    return cached_tokens(reply.usage or {})


async def _counts(base_url: str, model: str, api_key: str | None) -> Tristate:
    """Whether `/messages/count_tokens` answers with a number."""
    headers = {"anthropic-version": "2023-06-01"}
    if api_key:
        headers |= {"x-api-key": api_key, "Authorization": f"Bearer {api_key}"}
    try:
        async with http_client(base_url, timeout=_SECONDS) as client:
            url = base_url.rstrip("/") + "/messages/count_tokens"
            answer = await client.post(url, json={"model": model, "messages": _ASK}, headers=headers)
            return "yes" if answer.status_code == 200 and "input_tokens" in section(parsed(answer)) else "no"
    except (httpx.HTTPError, ValueError):
        return "unknown"
