"""The ideal against the simulated engine's own cache: three implementations that share no code must agree."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from replayer.requests.history import RecordedHistory
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.tokens import pack
from replayer.simulated import Launched, SimulatedSpec, launch
from replayer.simulated.cache import PrefixCache
from replayer.simulated.token_bytes import call_markup, encode
from replayer.traces import library
from replayer.traces.reader import Trace
from replayer.traces.schema import Usage


def generated_session(seed: int, block_size: int) -> list[tuple[list[int], list[int]]]:
    """A session of an agent: mostly appended to, at times pruned, rewound or started anew."""
    rnd = random.Random(seed)
    turns: list[tuple[list[int], list[int]]] = []
    for _ in range(rnd.randint(5, 30)):
        base: list[int] = []
        if turns and rnd.random() < 0.9:
            prompt, output = turns[-1] if rnd.random() < 0.7 else rnd.choice(turns)
            base = prompt + (output if rnd.random() < 0.8 else output[: len(output) // 2])
            if rnd.random() < 0.15:
                base = base[: rnd.randint(0, len(base))]
        vocabulary = rnd.choice([2, 1000])
        fresh = [rnd.randrange(vocabulary) for _ in range(rnd.randint(1, 3 * block_size + 40))]
        turns.append((base + fresh, [rnd.randrange(vocabulary) for _ in range(rnd.randint(1, 60))]))
    return turns


@pytest.mark.parametrize("backoff", [False, True])
@pytest.mark.parametrize("block_size", [1, 16, 128, 528])
def test_two_hundred_generated_sessions(block_size: int, backoff: bool) -> None:
    for seed in range(25):
        pool = random.Random(seed).choice([10**9, 5 * block_size, 40 * block_size])
        simulated = PrefixCache(block_size, pool)
        reuse = PrefixReuse(block_size=block_size, capacity_tokens=pool, speculative_backoff=backoff)
        for number, (prompt, output) in enumerate(generated_session(1000 * block_size + seed, block_size)):
            turn = reuse.request(str(number), prompt)
            assert turn.ideal == simulated.match(pack(prompt), backoff=backoff), (seed, number)
            place = simulated.insert(pack(prompt))
            reuse.generated(str(number), output)
            simulated.extend(place, pack(output[:-1]))


@pytest.fixture
async def started() -> AsyncIterator[list[Launched]]:
    servers: list[Launched] = []
    yield servers
    for server in servers:
        await server.stop()


def output_tokens(message: dict[str, Any]) -> bytes:
    """What the simulated model generated to say a message."""
    thought = message.get("reasoning_content") or message.get("reasoning")
    parts = [f"<think>{thought}</think>"] if thought else []
    parts += [message["content"]] if message.get("content") else []
    parts += [
        call_markup(c["function"]["name"], c["function"]["arguments"])
        for c in message.get("tool_calls") or ()
    ]
    return b"".join(map(encode, parts))


async def replayed(server: Launched, trace: Trace, reuse: PrefixReuse) -> list[tuple[int, int]]:
    """(ideal, reported) of every turn; tokens come from the engine's `/tokenize`."""
    pairs = []
    async with httpx.AsyncClient(base_url=server.base_url.removesuffix("/v1"), timeout=60) as client:
        history = RecordedHistory(trace)
        for turn in history.turns:
            messages, tools = history.messages(turn), history.tools(turn)
            body: dict[str, Any] = {"model": "simulated", "messages": messages, "tools": tools}
            tokens = (await client.post("/tokenize", json=body)).json()["tokens"]
            found_reuse = reuse.request(str(turn), tokens, messages, tools)
            answer = (await client.post("/v1/chat/completions", json=body)).json()
            reuse.generated(str(turn), output_tokens(answer["choices"][0]["message"]))
            details = answer["usage"]["prompt_tokens_details"] or {}
            found = reuse.reported(str(turn), Usage(cached_tokens=details.get("cached_tokens", 0)))
            assert found_reuse.prompt_tokens == answer["usage"]["prompt_tokens"]
            assert found.cause in (None, "block_granularity", "eviction")
            pairs.append((found.ideal_tokens, found.reported_tokens or 0))
    return pairs


async def check(started: list[Launched], name: str, **settings: Any) -> None:
    path = library.shipped()[name]
    options = {**settings, "trace": [str(path)], "context_length": 1_000_000}
    started.append(await launch(SimulatedSpec.from_options(options)))
    reuse = PrefixReuse(
        block_size=settings["block_size"],
        capacity_tokens=settings.get("pool_tokens"),
        speculative_backoff=settings.get("spec_backoff", False),
    )
    with Trace.open(path) as trace:
        pairs = await replayed(started[-1], trace, reuse)
    assert [ideal for ideal, _ in pairs] == [reported for _, reported in pairs]


async def test_a_shipped_trace_over_http(started: list[Launched]) -> None:
    await check(started, "fix-failing-test", kind="vllm", block_size=16)
    await check(started, "fix-failing-test", kind="vllm", block_size=16, pool_tokens=2400, spec_backoff=True)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"spec_backoff": True}, {"pool_tokens": 4800}], ids=str)
@pytest.mark.parametrize("block_size", [1, 16, 128, 528])
@pytest.mark.parametrize("name", sorted(library.shipped()))
async def test_every_shipped_trace_over_http(
    started: list[Launched], name: str, block_size: int, settings: dict[str, Any]
) -> None:
    await check(started, name, kind="vllm", block_size=block_size, **settings)
