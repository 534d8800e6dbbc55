"""The simulated engine: routes requests to its kind's endpoints and to the chat."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import orjson

from replayer.simulated.accepted import Job, decide_faults, make_job
from replayer.simulated.answering import run_job
from replayer.simulated.counters import State
from replayer.simulated.http_server import Exchange, listen
from replayer.simulated.kinds import KINDS
from replayer.simulated.kinds.base import JSON, Answer
from replayer.simulated.kv_pool import Pool
from replayer.simulated.planted import STATUS_FAULTS, Arrivals, parse_faults
from replayer.simulated.playback import Playback
from replayer.simulated.replies import forced, shaped, unparsed
from replayer.simulated.responses_events import responses_body
from replayer.simulated.script import Script, opening
from replayer.simulated.spec import SimulatedSpec
from replayer.simulated.token_bytes import WIDTH, render
from replayer.simulated.wire_requests import (
    COUNTS,
    PATHS,
    Stored,
    as_chat,
    custom_tools,
    error_on,
    not_stored,
)
from replayer.wire.types import JsonObject, Wire

BAD_HISTORY = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
"""`vllm-0.21.0-h200/spec-ngram/err-toolcall-args-invalid-in-history.response.json`; other kinds use their own words."""


class Simulator:
    """One simulated engine in this process. Raises TraceError when a trace cannot be read."""

    def __init__(self, spec: SimulatedSpec) -> None:
        self.spec = spec
        self.state = State(spec, Pool(spec))
        self.kind = KINDS[spec.kind](self.state)
        self._script = Script(spec.trace)
        self._faults = parse_faults(spec.fault)
        self._arrivals = Arrivals(spec.seed)
        self._stored = Stored(keeps=spec.stored_responses)
        self._playback = Playback(spec.captures) if spec.captures else None

    async def listen(self, host: str, port: int) -> tuple[int, Callable[[], None]]:
        """The port in use, and what ends it."""
        return await listen(self.handle, host, port, self.kind.server)

    async def handle(self, exchange: Exchange) -> None:
        if self._playback is not None:
            await self._playback.answer(exchange)
            return
        path = exchange.path
        if path.startswith("/v1") and not self._authorized(exchange):
            self._send(exchange, self.kind.error("unauthorized", "Invalid API Key"))
        elif exchange.method == "GET":
            if path.endswith("/metrics") and self.spec.metrics_delay:
                await asyncio.sleep(self.spec.metrics_delay)
            self._send(exchange, self._get(path) or self.kind.error("not_found", "Not Found"))
        elif exchange.method == "POST":
            await self._post(exchange)
        else:
            self._send(exchange, (405, JSON, {"detail": "Method Not Allowed"}))

    def _authorized(self, exchange: Exchange) -> bool:
        key = self.spec.api_key
        given = exchange.headers.get("authorization"), exchange.headers.get("x-api-key")
        return key is None or given[0] == f"Bearer {key}" or given[1] == key

    def _get(self, path: str) -> Answer | None:
        if path == "/simulated/injected":
            return 200, JSON, list(self.state.injected)
        name = path.partition("?")[0]
        if name == "/openapi.json" and self.kind.endpoints():
            return 200, JSON, {"openapi": "3.1.0", "paths": {key: {} for key in self.kind.endpoints()}}
        return self.kind.get(name)

    async def _post(self, exchange: Exchange) -> None:
        try:
            body = orjson.loads(exchange.body or b"{}")
        except orjson.JSONDecodeError as error:
            self._send(exchange, self.kind.error("bad_json", str(error)))
            return
        exchange.body = bytearray()
        path = exchange.path.partition("?")[0]
        wire = PATHS.get(path)
        if wire is None:
            # llama.cpp erases a slot by a query: `/slots/0?action=erase`
            answer = self._counted(path, body) or self.kind.post(exchange.path, body)
            self._send(exchange, answer or self.kind.error("not_found", "Not Found"))
            return
        asked = self._stored.whole(body)
        job = not_stored(body) if asked is None else self._accept(as_chat(asked, wire), wire)
        if not isinstance(job, Job):
            self._send(exchange, error_on(wire, job))
            return
        job.api, job.custom = wire, custom_tools(body)
        if wire == "responses":
            self._stored.keep(asked, responses_body(job))
        del body, asked
        await run_job(job, exchange)

    def _counted(self, path: str, body: object) -> Answer | None:
        """How many tokens a request has: llama.cpp counts on both wires, the others on Messages."""
        wire = COUNTS.get(path)
        if wire is None or (wire == "responses" and self.kind.name not in ("llamacpp", "ik_llama")):
            return None
        chat = as_chat(body, wire)
        size = len(render(chat.get("messages") or [], chat.get("tools"))) // WIDTH
        return 200, JSON, {"input_tokens": size}

    def _accept(self, body: JsonObject, wire: Wire = "chat") -> Job | Answer:
        problem = self._problem(body)
        if problem is not None:
            return problem
        if not self.spec.tool_parser and self.kind.ignores_tools:
            body = {key: value for key, value in body.items() if key not in ("tools", "tool_choice")}
        messages, tools = body["messages"], body.get("tools")
        match = self._script.match(messages, tools)
        reply = forced(match.reply, body)
        if not self.spec.tool_parser and reply.calls:
            unparsed(reply)
        reply = shaped(reply, body, Random(f"{self.spec.seed}/{match.key}/{body.get('seed')}"))
        # a stand-in is named by its text, in which the run's marker may stand
        key = match.key if "/" in match.key else f"/{match.turn}"
        rng = self._arrivals.draw(key, str(body.get("cache_salt") or opening(messages)))
        in_flight = self.state.pool.running + self.state.pool.waiting + 1
        struck = decide_faults(self._faults, match, reply, body, rng, in_flight, wire)
        for fault in struck:
            self.state.injected.append({"class": fault.klass, "key": match.key, "turn": match.turn})
        refusal = next((fault.klass for fault in struck if fault.klass in STATUS_FAULTS), None)
        if refusal in _REFUSALS:
            return self.kind.error(_REFUSALS[refusal], "Simulated fault: " + refusal)
        if refusal is not None:
            return self.kind.error("bad_history", BAD_HISTORY)
        prompt = render(messages, tools)
        size = len(prompt) // WIDTH
        if size >= self.spec.context_length:
            return self.kind.error("too_long", "", size=size, limit=self.spec.context_length)
        job = make_job(self.kind, match, reply, body, prompt, rng)
        job.wire = {fault.klass: fault for fault in struck}
        return job

    def _problem(self, body: object) -> Answer | None:
        """What a real server refuses, in its own words where a capture has them."""
        error = self.kind.error
        if not isinstance(body, dict) or "messages" not in body:
            return error("bad_request", "'messages' is required")
        if not isinstance(body["messages"], list) or not body["messages"]:
            return error("bad_request", "Expected 'messages' to be a non-empty array")
        model = body.get("model")
        if self.kind.unknown_model_is_error and model not in (None, self.spec.model, *self.spec.lora):
            return error("unknown_model", f"The model `{model}` does not exist.", model=model)
        tools = body.get("tools")
        if tools is not None and not isinstance(tools, list):
            return error("bad_tools", "Expected 'tools' to be an array")
        if any(not (tool.get("function") or {}).get("name") for tool in tools or ()):
            return error("bad_tools", "Missing tool function")
        automatic = tools and body.get("tool_choice", "auto") == "auto"
        if automatic and not self.spec.tool_parser and self.kind.needs_parser:
            return error("bad_request", self.kind.needs_parser)
        if self.kind.refuses_stream_options and body.get("stream_options") and not body.get("stream"):
            return error("bad_request", self.kind.refuses_stream_options)
        if self.kind.rejects_bad_history and _has_bad_history(body["messages"]):
            return error("bad_history", BAD_HISTORY)
        return None

    def _send(self, exchange: Exchange, answer: Answer) -> None:
        status, content_type, body = answer
        data = body.encode() if isinstance(body, str) else orjson.dumps(body)
        fault = next((spec for spec in self._faults if spec.klass == str(status)), None)
        later = str(int(fault.number("retry_after", 1))) if fault else "1"
        exchange.send(status, data, content_type, {"retry-after": later} if status in (429, 503) else None)


_REFUSALS = {"429": "overloaded", "500": "server_error", "503": "unavailable"}


def _has_bad_history(messages: list[JsonObject]) -> bool:
    try:
        for message in messages:
            for call in message.get("tool_calls") or ():
                orjson.loads((call.get("function") or {}).get("arguments") or "{}")
    except orjson.JSONDecodeError:
        return True
    return False
