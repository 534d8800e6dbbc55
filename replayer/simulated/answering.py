"""Answers an accepted request at the simulated engine's pace: prefill, decode, and the faults of its connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from random import Random

import orjson

from replayer.simulated.accepted import Job, argument_form, call_id, delivered
from replayer.simulated.chat_events import Events
from replayer.simulated.counters import Counts, State
from replayer.simulated.generation import Piece
from replayer.simulated.http_server import Exchange
from replayer.simulated.messages_events import MessagesEvents, messages_body
from replayer.simulated.responses_events import ResponsesEvents, responses_body
from replayer.simulated.token_bytes import WIDTH, ids
from replayer.simulated.wire_requests import error_on
from replayer.wire.types import JsonObject, Wire

FLUSH_BYTES = 32_768


async def run_job(job: Job, exchange: Exchange) -> None:
    """Wait for a place in the pool, prefill, decode and answer; the counters move as the work is done."""
    state = job.kind.state
    started, outcome = exchange.received or time.monotonic(), "abort"
    await state.pool.enter(job.seat)
    started = started if state.pool.running == 1 else time.monotonic()
    try:
        if job.stream:
            await _slow_headers(job)
            exchange.start_stream()
        await _prefill(job, started)
        await (_stream(job, exchange) if job.stream else _whole(job, exchange))
        state.pool.keep(job.seat, job.generation.tokens[:-WIDTH])
        outcome = job.generation.finish if job.generation.finish != "tool_calls" else "stop"
    finally:
        state.pool.leave(job.seat)
        state.finished[outcome] += 1


async def _slow_headers(job: Job) -> None:
    if fault := job.wire.get("slow_headers"):
        await asyncio.sleep(fault.number("ms", 2000) / 1000)


async def _prefill(job: Job, started: float) -> None:
    state, counts, seat = job.kind.state, job.counts, job.seat
    counts.cached, counts.host, counts.remote = seat.cached, seat.host, seat.remote
    counts.prefill_s = await _compute(job, started)
    state.prompt_tokens += counts.prompt
    state.cached_tokens += counts.cached
    state.host_tokens += counts.host
    state.remote_tokens += counts.remote
    state.prompt_seconds += counts.prefill_s
    state.last_hit_rate = counts.cached / max(1, counts.prompt)
    state.longest = max(state.longest, counts.prompt + counts.completion)


async def _compute(job: Job, started: float) -> float:
    """All tokens that the cache lacked, those generated before a preemption included; the seconds that it takes."""
    pool, seat = job.kind.state.pool, job.seat
    due = pool.prefill_until(started, job.counts.prompt - seat.cached + seat.generated)
    await _until(due, alone=pool.running == 1)
    pool.share(seat)
    return due - started


async def _until(due: float, *, alone: bool) -> None:
    """A timer of the loop comes a millisecond late; a request that is alone gets its first token on time."""
    early = 0.002 if alone else 0.0
    delay = due - early - time.monotonic()
    if delay > 0:
        await asyncio.sleep(delay)
    while alone and time.monotonic() < due:
        await asyncio.sleep(0)


async def _decode(job: Job) -> AsyncIterator[tuple[int, list[Piece]]]:
    """Yields the position and the pieces of each step at the set pace."""
    state, counts, pieces = job.kind.state, job.counts, job.generation.pieces
    pace = Pace(state, job.rng)
    began = time.monotonic()
    pace.start()
    at = 0
    while at < len(pieces):
        size = pace.step(len(pieces) - at, counts)
        await pace.wait()
        if not state.pool.grow(job.seat, size):
            await state.pool.enter(job.seat, first=True)
            await _compute(job, time.monotonic())
            pace.start()
        state.generated_tokens += size
        state.decodes += 1
        yield at, pieces[at : at + size]
        at += size
    if not pieces:
        state.generated_tokens += 1
        state.decodes += 1
    counts.decode_s = time.monotonic() - began
    state.decode_seconds += counts.decode_s
    state.last_throughput = counts.completion / max(counts.decode_s, 1e-3)


async def _whole(job: Job, exchange: Exchange) -> None:
    await _slow_headers(job)
    async for at, pieces in _decode(job):
        if await _breaks(job, exchange, at, len(pieces)):
            return
    status, body = 200, WIRES[job.api][1](job)
    if body is None:
        failure = job.kind.error("server_error", "Unterminated string starting at: line 1 column 1")
        status, _, body = error_on(job.api, failure)
    exchange.send(status, orjson.dumps(body), "application/json")


def whole_body(job: Job) -> JsonObject:
    kind, sent = job.kind, delivered(job.generation.pieces)
    calls = []
    for number, arguments in sent.calls.items():
        name, own_id = job.reply.calls[number].name, call_id(job, number)
        function = {"name": name, "arguments": argument_form(job, arguments)}
        calls.append({"id": own_id, "type": "function", "function": function})
    message = kind.message(sent.content, sent.reasoning, calls)
    base = kind.base(kind.request_id(job.ticket), job.model)
    body = kind.completion(base, message, kind.finish_reason(job.generation.finish), job.counts)
    if job.prompt_ids is not None:
        body["prompt_token_ids"] = job.prompt_ids
        body["choices"][0]["token_ids"] = ids(job.generation.tokens)
    if "no_usage" in job.wire:
        body["usage"] = None
    elif "null_details" in job.wire:
        body["usage"]["prompt_tokens_details"] = None
    return body


async def _stream(job: Job, exchange: Exchange) -> None:
    events = WIRES[job.api][0](job)
    buffer = bytearray(events.first())
    async for at, pieces in _decode(job):
        buffer += events.of(pieces)
        if await _breaks(job, exchange, at, len(pieces), buffer, events):
            return
        if job.kind.spec.paced or len(buffer) > FLUSH_BYTES:
            exchange.write(bytes(buffer))
            buffer.clear()
            await exchange.drain()
    buffer += events.end()
    if "no_done" not in job.wire:
        buffer += events.done()
    exchange.write(bytes(buffer))
    exchange.finish_stream()
    await exchange.drain()


async def _breaks(
    job: Job,
    exchange: Exchange,
    at: int,
    size: int,
    buffer: bytearray | None = None,
    events: Events | None = None,
) -> bool:
    """Faults of the connection that fall within these tokens; True when the answer ends here."""
    for klass in ("stall", "malformed_sse", "stream_error", "disconnect"):
        fault = job.wire.get(klass)
        if fault is None or not at <= fault.number("at", len(job.generation.pieces) // 2) < at + size:
            continue
        if buffer:
            exchange.write(bytes(buffer))
            buffer.clear()
        if klass == "stall":
            await asyncio.sleep(fault.number("s", 3600))
        elif klass == "disconnect":
            await asyncio.sleep(0)
            exchange.abort()
            return True
        elif buffer is not None and klass == "malformed_sse":
            buffer += b'data: {"choices":[{"delta":{"content":"tr\n\n'
        elif events is not None:
            exchange.write(events.error("Internal server error"))
            exchange.finish_stream()
            return True
    return False


WIRES: dict[Wire, tuple[type[Events], Callable[[Job], JsonObject | None]]] = {
    "chat": (Events, whole_body),
    "messages": (MessagesEvents, messages_body),
    "responses": (ResponsesEvents, responses_body),
}
"""How a reply is streamed, and the whole of it."""


@dataclass(slots=True)
class Pace:
    """When the next step of a request is due, and how many tokens it brings."""

    state: State
    rng: Random
    due: float = 0.0

    def start(self) -> None:
        self.due = time.monotonic()

    def step(self, left: int, counts: Counts) -> int:
        """Tokens of the next step; the clock moves by its duration."""
        spec = self.state.spec
        if spec.draft_tokens == 0:
            tokens = min(left, spec.chunk_tokens)
            self.due += tokens * self._seconds(1.0)
            return tokens
        band = int((time.time() - self.state.started) / spec.band_seconds) % len(spec.acceptance)
        mean = spec.draft_tokens * spec.acceptance[band]
        accepted = int(mean) + (self.rng.random() < mean - int(mean))
        tokens = min(left, 1 + accepted)
        self.due += self._seconds(1 + spec.draft_tokens * spec.acceptance[0])
        self.state.step(spec.draft_tokens, tokens - 1)
        counts.steps += 1
        counts.drafted += spec.draft_tokens
        counts.accepted += tokens - 1
        return tokens

    def _seconds(self, tokens: float) -> float:
        """How long so many tokens take: at the request's own speed, or at its share of the engine's."""
        spec = self.state.spec
        alone = tokens / spec.tok_s if spec.tok_s else 0.0
        return max(alone, tokens * self.state.pool.running / spec.total_tok_s) if spec.total_tok_s else alone

    async def wait(self) -> None:
        delay = self.due - time.monotonic()
        if delay > 0:
            await asyncio.sleep(delay)
