"""Checks a chat request, decides what to answer, and sends it at the simulated engine's pace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

import orjson

from replayer.engines.simulated.cache import Place
from replayer.engines.simulated.distort import Scene, distort
from replayer.engines.simulated.faults import STATUS_FAULTS, WIRE_FAULTS, FaultSpec
from replayer.engines.simulated.generation import Generation, Piece, generate
from replayer.engines.simulated.http import Exchange
from replayer.engines.simulated.kinds.base import Kind
from replayer.engines.simulated.replies import Match, Reply
from replayer.engines.simulated.state import Counts, State
from replayer.engines.simulated.tokens import WIDTH, ids

DONE = b"data: [DONE]\n\n"
FLUSH_BYTES = 32_768


@dataclass(slots=True)
class Job:
    """One accepted request on its way. Holds no message text: the body is gone once this exists."""

    kind: Kind
    match: Match
    reply: Reply
    generation: Generation
    counts: Counts
    rng: Random
    ticket: UUID
    model: str
    stream: bool
    wants_usage: bool
    prompt: bytes = b""
    prompt_ids: list[int] | None = None
    """Token ids of the prompt, when `return_token_ids` asks for ids."""
    wire: dict[str, FaultSpec] = field(default_factory=dict)
    reuse: bool = True
    salt: str = ""
    """Parts its prefix cache from others': the request's salt, and the adapter that serves it."""


def decide_faults(
    specs: list[FaultSpec], match: Match, reply: Reply, body: dict[str, Any], rng: Random
) -> list[FaultSpec]:
    """Strike the dice for every fault; at most one changes the reply, those of the wire may add up."""
    struck: list[FaultSpec] = []
    changed = False
    for spec in specs:
        if not spec.strikes(rng, match.turn):
            continue
        if spec.klass in WIRE_FAULTS or spec.klass in STATUS_FAULTS:
            struck.append(spec)
        elif not changed and distort(reply, Scene(body, rng, spec)):
            changed = True
            struck.append(spec)
    return struck


def make_job(kind: Kind, match: Match, reply: Reply, body: dict[str, Any], prompt: bytes, rng: Random) -> Job:
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    options = body.get("stream_options") or {}
    generation = generate(reply, int(limit) if limit else None)
    counts = Counts(prompt=len(prompt) // WIDTH, cached=0, completion=max(1, len(generation.pieces)))
    counts.reasoning = sum(piece.channel == "reasoning" for piece in generation.pieces)
    return Job(
        kind=kind,
        match=match,
        reply=reply,
        generation=generation,
        counts=counts,
        rng=rng,
        ticket=UUID(int=rng.getrandbits(128)),
        model=str(body.get("model") or kind.spec.model),
        stream=bool(body.get("stream")),
        wants_usage=bool(options.get("include_usage")),
        prompt=prompt,
        prompt_ids=ids(prompt) if body.get("return_token_ids") else None,
        reuse=body.get("cache_prompt", True) is not False,
    )


async def run_job(job: Job, exchange: Exchange) -> None:
    """Prefill, decode and answer; the counters move as the work is done."""
    state, started = job.kind.state, time.monotonic()
    state.running += 1
    held = len(job.prompt) // WIDTH
    state.running_tokens += held
    outcome = "abort"
    try:
        if job.stream:
            await _slow_headers(job)
            exchange.start_stream()
        place = await _prefill(job, started)
        await (_stream(job, exchange) if job.stream else _whole(job, exchange))
        state.cache.extend(place, job.generation.tokens[:-WIDTH])
        outcome = job.generation.finish if job.generation.finish != "tool_calls" else "stop"
    finally:
        state.running -= 1
        state.running_tokens -= held
        state.finished[outcome] += 1


async def _slow_headers(job: Job) -> None:
    if fault := job.wire.get("slow_headers"):
        await asyncio.sleep(fault.number("ms", 2000) / 1000)


async def _prefill(job: Job, started: float) -> Place:
    state, spec, counts = job.kind.state, job.kind.spec, job.counts
    if job.reuse:
        counts.cached = state.cache.match(job.prompt, salt=job.salt, backoff=spec.spec_backoff)
    new = counts.prompt - counts.cached
    counts.prefill_s = spec.ttft_ms / 1000 + (new / spec.prefill_tok_s if spec.prefill_tok_s else 0.0)
    delay = started + counts.prefill_s - time.monotonic()
    if delay > 0:
        await asyncio.sleep(delay)
    state.prompt_tokens += counts.prompt
    state.cached_tokens += counts.cached
    state.prompt_seconds += counts.prefill_s
    state.last_hit_rate = counts.cached / max(1, counts.prompt)
    state.longest = max(state.longest, counts.prompt + counts.completion)
    place = state.cache.insert(job.prompt, salt=job.salt)
    job.prompt = b""
    return place


@dataclass(slots=True)
class _Pace:
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
            self.due += tokens / spec.tok_s if spec.tok_s else 0.0
            return tokens
        band = int((time.time() - self.state.started) / spec.band_seconds) % len(spec.acceptance)
        mean = spec.draft_tokens * spec.acceptance[band]
        accepted = int(mean) + (self.rng.random() < mean - int(mean))
        tokens = min(left, 1 + accepted)
        self.due += (1 + spec.draft_tokens * spec.acceptance[0]) / spec.tok_s if spec.tok_s else 0.0
        self.state.step(spec.draft_tokens, tokens - 1)
        counts.steps += 1
        counts.drafted += spec.draft_tokens
        counts.accepted += tokens - 1
        return tokens

    async def wait(self) -> None:
        delay = self.due - time.monotonic()
        if delay > 0:
            await asyncio.sleep(delay)


async def _decode(job: Job) -> Any:
    """Yields (pieces of a step, whether time passes before the next) at the set pace."""
    state, counts, pieces = job.kind.state, job.counts, job.generation.pieces
    pace = _Pace(state, job.rng)
    began = time.monotonic()
    pace.start()
    at = 0
    while at < len(pieces):
        size = pace.step(len(pieces) - at, counts)
        await pace.wait()
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
    body = whole_body(job)
    exchange.send(200, orjson.dumps(body), "application/json")


def whole_body(job: Job) -> dict[str, Any]:
    kind, delivered = job.kind, _delivered(job.generation.pieces)
    calls = []
    for number, arguments in delivered.calls.items():
        name, call_id = job.reply.calls[number].name, _call_id(job, number)
        function = {"name": name, "arguments": _argument_form(job, arguments)}
        calls.append({"id": call_id, "type": "function", "function": function})
    message = kind.message(delivered.content, delivered.reasoning, calls)
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


@dataclass(slots=True)
class _Delivered:
    content: str = ""
    reasoning: str = ""
    calls: dict[int, str] = field(default_factory=dict)


def _delivered(pieces: list[Piece]) -> _Delivered:
    sent = _Delivered()
    for piece in pieces:
        if piece.channel == "content":
            sent.content += piece.text
        elif piece.channel == "reasoning":
            sent.reasoning += piece.text
        elif piece.channel == "arguments":
            sent.calls[piece.call] = sent.calls.get(piece.call, "") + piece.text
    return sent


def _call_id(job: Job, number: int) -> str | None:
    given = job.reply.calls[number].id
    return job.kind.call_id(job.ticket, number) if given == "" else given


def _argument_form(job: Job, arguments: str) -> Any:
    if not _protocol(job, "arguments_object"):
        return arguments
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {}


def _protocol(job: Job, form: str) -> bool:
    fault = job.wire.get("protocol")
    return fault is not None and fault.keys.get("form", "delta_after_finish") == form


async def _stream(job: Job, exchange: Exchange) -> None:
    events = _Events(job)
    buffer = bytearray(events.first())
    async for at, pieces in _decode(job):
        buffer += events.of(pieces)
        if await _breaks(job, exchange, at, len(pieces), buffer):
            return
        if job.kind.spec.tok_s or len(buffer) > FLUSH_BYTES:
            exchange.write(bytes(buffer))
            buffer.clear()
            await exchange.drain()
    buffer += events.end()
    if "no_done" not in job.wire:
        buffer += DONE
    exchange.write(bytes(buffer))
    exchange.finish_stream()
    await exchange.drain()


async def _breaks(job: Job, exchange: Exchange, at: int, size: int, buffer: bytearray | None = None) -> bool:
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
        elif buffer is not None:
            error = {"message": "Internal server error", "type": "InternalServerError", "code": 500}
            exchange.write(b"data: " + orjson.dumps({"error": error}) + b"\n\n" + DONE)
            exchange.finish_stream()
            return True
    return False


class _Events:
    """Turns pieces into server-sent events in the kind's own form."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._kind = job.kind
        self._base = job.kind.base(job.kind.request_id(job.ticket), job.model)
        self._ids = bytearray()
        self._late_role = _protocol(job, "call_before_role")

    def first(self) -> bytes:
        if self._late_role:
            return b""
        chunk = self._kind.chunk(self._base, self._kind.role(), None)
        if self._job.prompt_ids is not None:
            chunk["prompt_token_ids"] = self._job.prompt_ids
        return _event(chunk)

    def of(self, pieces: list[Piece]) -> bytes:
        self._ids += b"".join(piece.token for piece in pieces)
        out = b"".join(self._delta(delta) for delta in self._merge(pieces))
        if out and self._late_role:
            self._late_role = False
            out += _event(self._kind.chunk(self._base, self._kind.role(), None))
        return out

    def end(self) -> bytes:
        job, kind = self._job, self._kind
        chunk = kind.last(self._base, kind.finish_reason(job.generation.finish), job.counts, job.wants_usage)
        out = _event(self._with_ids(chunk))
        if _protocol(job, "delta_after_finish"):
            out += _event(kind.chunk(self._base, kind.text("content", " (late)"), None))
        if job.wants_usage and "no_usage" not in job.wire:
            usage = kind.usage_chunk(self._base, job.counts)
            if "null_details" in job.wire:
                usage["usage"]["prompt_tokens_details"] = None
            out += _event(usage)
        return out

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event(self._with_ids(self._kind.chunk(self._base, delta, None)))

    def _with_ids(self, chunk: dict[str, Any]) -> dict[str, Any]:
        if self._job.prompt_ids is not None:
            chunk["choices"][0]["token_ids"] = ids(bytes(self._ids))
            self._ids.clear()
        return chunk

    def _merge(self, pieces: list[Piece]) -> Iterator[dict[str, Any]]:
        """Tokens of one step that belong to the same text travel in one event."""
        run: list[str] = []
        last: Piece | None = None
        for piece in pieces:
            if last is not None and (piece.opens or (piece.channel, piece.call) != (last.channel, last.call)):
                yield from self._text(last, "".join(run))
                run = []
            if piece.opens:
                yield self._open(piece.call)
            last = piece
            run.append(piece.text)
        if last is not None:
            yield from self._text(last, "".join(run))

    def _text(self, piece: Piece, text: str) -> Iterator[dict[str, Any]]:
        if not text or not piece.channel:
            return
        if piece.channel != "arguments":
            yield self._kind.text(piece.channel, text)
        elif not _protocol(self._job, "arguments_object"):
            yield self._kind.arguments(self._index(piece.call), text)

    def _open(self, number: int) -> dict[str, Any]:
        call = self._job.reply.calls[number]
        whole = _argument_form(self._job, call.arguments)
        arguments = "" if isinstance(whole, str) else whole
        return self._kind.call(self._index(number), _call_id(self._job, number), call.name, arguments)

    def _index(self, number: int) -> int:
        index = self._job.reply.calls[number].index
        return number if index is None else index


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"
