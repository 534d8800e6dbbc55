"""The prefix-cache probe against simulated engines over HTTP, and against stand-ins for what they cannot be."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from replayer.doctor.cache_probe import ProbeReply, ProbeResult, probe_prefix_cache
from replayer.signals.prefix_reuse.tokens import ideal_reuse
from replayer.simulated import Launched, SimulatedSpec, launch

Probe = Callable[..., Awaitable[ProbeResult]]


@pytest.fixture
async def probe() -> AsyncIterator[Probe]:
    """Probes a simulated engine with the given settings."""
    servers: list[Launched] = []

    async def one(*, kind: str = "vllm", **settings: Any) -> ProbeResult:
        servers.append(await launch(SimulatedSpec.from_options({"kind": kind, **settings})))
        async with httpx.AsyncClient(timeout=30) as http:

            async def chat(messages: list[dict[str, Any]]) -> ProbeReply:
                begun = time.monotonic_ns()
                body = {"model": "simulated", "messages": messages, "max_tokens": 1}
                usage = (await http.post(f"{servers[-1].base_url}/chat/completions", json=body)).json()[
                    "usage"
                ]
                cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
                return ProbeReply(usage["prompt_tokens"], cached, time.monotonic_ns() - begun)

            return await probe_prefix_cache(chat)

    yield one
    for server in servers:
        await server.stop()


@pytest.mark.parametrize("block_size", [1, 16, 32, 64, 128, 528])
async def test_block_size(probe: Probe, block_size: int) -> None:
    result = await probe(block_size=block_size)
    assert (result.caching, result.counter) == ("yes", "works")
    assert (result.block_size, result.speculative_backoff) == (block_size, "no")
    assert result.second_sighting_needed == "no"
    assert len(result.requests) == 6


@pytest.mark.parametrize("block_size", [16, 32, 128, 528])
async def test_speculative_backoff(probe: Probe, block_size: int) -> None:
    result = await probe(block_size=block_size, spec_backoff=True)
    assert (result.block_size, result.speculative_backoff) == (block_size, "yes")


async def test_not_reported_but_faster(probe: Probe) -> None:
    result = await probe(kind="sglang", report_cached=False, prefill_tok_s=1500)
    assert (result.caching, result.counter, result.block_size) == ("yes", "not_reported", None)


def engine(
    reuse: Callable[[int, int, int], int | None], *, real: Callable[[int, int, int], int] | None = None
) -> Callable[[list[dict[str, Any]]], Awaitable[ProbeReply]]:
    """A stand-in: a word is a token; `reuse(shared, prompt, sightings)` is reported, `real` is what it saves."""
    seen: list[list[str]] = []

    async def chat(messages: list[dict[str, Any]]) -> ProbeReply:
        words = [*messages[0]["content"].split(), "<end>", "<assistant>"]
        shared, sightings = 0, seen.count(words)
        for old in seen:
            n = next(
                (n for n, (a, b) in enumerate(zip(old, words, strict=False)) if a != b),
                min(len(old), len(words)),
            )
            shared = max(shared, n)
        seen.append(words)
        saved = real(shared, len(words), sightings) if real else reuse(shared, len(words), sightings) or 0
        return ProbeReply(
            len(words), reuse(shared, len(words), sightings), 20_000_000 + (len(words) - saved) * 1_000_000
        )

    return chat


async def test_cache_off() -> None:
    result = await probe_prefix_cache(engine(lambda shared, prompt, sightings: 0))
    assert (result.caching, result.counter, result.block_size) == ("no", "unknown", None)


async def test_cache_off_and_nothing_reported() -> None:
    result = await probe_prefix_cache(engine(lambda shared, prompt, sightings: None))
    assert (result.caching, result.counter) == ("no", "not_reported")


async def test_counter_broken() -> None:
    """vllm-ascend #16639: the counter is not wired, the cache works."""
    chat = engine(
        lambda shared, prompt, sightings: 0,
        real=lambda shared, prompt, sightings: ideal_reuse(shared, prompt, 16),
    )
    result = await probe_prefix_cache(chat)
    assert (result.caching, result.counter) == ("yes", "broken")


async def test_a_second_sighting_is_needed() -> None:
    """vLLM #45238: aligned checkpoints of hybrid models are only there the third time."""

    def reuse(shared: int, prompt: int, sightings: int) -> int:
        return 0 if sightings == 1 else ideal_reuse(shared, prompt, 16)

    result = await probe_prefix_cache(engine(reuse))
    assert (result.second_sighting_needed, result.caching, result.block_size) == ("yes", "yes", 16)


async def test_a_page_of_one_token() -> None:
    result = await probe_prefix_cache(engine(lambda shared, prompt, sightings: ideal_reuse(shared, prompt)))
    assert (result.block_size, result.speculative_backoff) == (1, "no")


async def test_no_usage_at_all_is_unknown() -> None:
    async def chat(messages: list[dict[str, Any]]) -> ProbeReply:
        return ProbeReply(None, None, None)

    result = await probe_prefix_cache(chat)
    assert (result.caching, result.counter, result.block_size) == ("unknown", "not_reported", None)


async def test_metrics_tell_what_usage_does_not() -> None:
    quiet = engine(lambda shared, prompt, sightings: ideal_reuse(shared, prompt, 64))

    async def chat(messages: list[dict[str, Any]]) -> ProbeReply:
        reply = await quiet(messages)
        return ProbeReply(reply.prompt_tokens, None, reply.ttft_ns, float(reply.cached_tokens or 0))

    result = await probe_prefix_cache(chat)
    assert (result.caching, result.counter, result.block_size) == ("yes", "not_reported", 64)
