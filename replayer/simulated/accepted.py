"""One accepted request: what it will be answered with, and which faults befall it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

import orjson

from replayer.simulated.counters import Counts
from replayer.simulated.distort import Scene, distort
from replayer.simulated.generation import Generation, Piece, generate
from replayer.simulated.kinds.base import Kind
from replayer.simulated.kv_pool import Seat
from replayer.simulated.planted import STATUS_FAULTS, WIRE_FAULTS, FaultSpec
from replayer.simulated.replies import Reply
from replayer.simulated.token_bytes import WIDTH, ids
from replayer.wire.types import JsonObject, Wire

if TYPE_CHECKING:
    from replayer.simulated.script import Match


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
    seat: Seat
    """Its prompt's tokens, and the place that they take in the KV pool."""
    prompt_ids: list[int] | None = None
    """Token ids of the prompt, when `return_token_ids` asks for ids."""
    wire: dict[str, FaultSpec] = field(default_factory=dict)
    """The faults that befall it, by class."""
    api: Wire = "chat"
    """The wire that it came over."""
    custom: frozenset[str] = frozenset()
    """Tools whose calls hold text instead of JSON."""


@dataclass(slots=True)
class Delivered:
    """What pieces deliver to the client, put together."""

    content: str = ""
    reasoning: str = ""
    calls: dict[int, str] = field(default_factory=dict)


def delivered(pieces: list[Piece]) -> Delivered:
    sent = Delivered()
    for piece in pieces:
        if piece.channel == "content":
            sent.content += piece.text
        elif piece.channel == "reasoning":
            sent.reasoning += piece.text
        elif piece.channel == "arguments":
            sent.calls[piece.call] = sent.calls.get(piece.call, "") + piece.text
    return sent


def decide_faults(
    specs: list[FaultSpec],
    match: Match,
    reply: Reply,
    body: JsonObject,
    rng: Random,
    in_flight: int,
    wire: Wire = "chat",
) -> list[FaultSpec]:
    """Draw every fault; at most one changes the reply, those of the wire may add up."""
    struck: list[FaultSpec] = []
    changed = False
    for spec in specs:
        if not spec.strikes(rng, match.turn, in_flight) or spec.keys.get("wire", wire) != wire:
            continue
        if spec.klass in WIRE_FAULTS or spec.klass in STATUS_FAULTS:
            struck.append(spec)
        elif not changed and distort(reply, Scene(body, rng, spec)):
            changed = True
            struck.append(spec)
    return struck


def make_job(kind: Kind, match: Match, reply: Reply, body: JsonObject, prompt: bytes, rng: Random) -> Job:
    adapter = str(body.get("model")) if body.get("model") in kind.spec.lora else ""
    salt = f"{adapter}/{body.get('cache_salt') or ''}"
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
        seat=Seat(prompt, salt, body.get("cache_prompt", True) is not False),
        prompt_ids=ids(prompt) if body.get("return_token_ids") else None,
    )


def call_id(job: Job, number: int) -> str | None:
    given = job.reply.calls[number].id
    return job.kind.call_id(job.ticket, number) if given == "" else given


def argument_form(job: Job, arguments: str) -> object:
    if not commits(job, "arguments_object"):
        return arguments
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {}


def commits(job: Job, form: str) -> bool:
    fault = job.wire.get("protocol")
    return fault is not None and fault.keys.get("form", "delta_after_finish") == form
