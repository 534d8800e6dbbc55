"""One KV pool for all requests: who waits, who is evicted, who gives way, and what slower tiers give back."""

import asyncio

import httpx
import pytest

from replayer.engines.detect import connect
from replayer.wire.reply import assemble

TEXT = "why does the queue stay full after the flush "


def body(session, turns=1, size=20, **more):
    """A session's request: 11.25 tokens for each of `size` pieces, growing by a turn of about 60 tokens."""
    messages = [{"role": "user", "content": f"[{session}] " + TEXT * size}]
    for turn in range(turns - 1):
        messages += [{"role": "assistant", "content": f"So {turn}."}, {"role": "user", "content": TEXT * 5}]
    return {"model": "simulated", "messages": messages} | more


async def ask(engine, **asked):
    reply = await engine.http.post(f"{engine.base_url}/chat/completions", json=asked, timeout=30)
    return reply.json()["usage"]


async def read_while(engine, work):
    """What the server reports while it works, and at the end."""
    task = asyncio.gather(*work)
    seen = []
    while not task.done():
        seen.append(await engine.telemetry())
        await asyncio.sleep(0.005)
    await task
    return [*seen, await engine.telemetry()]


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
async def test_requests_that_do_not_fit_wait_and_the_youngest_gives_way(serve, kind):
    engine = await connect(
        await serve(kind=kind, pool_tokens=1200, block_size=16, tok_s=1000, ttft_ms=50, seed=3)
    )
    asked = [body(n, max_tokens=200, ignore_eos=True) for n in range(8)]
    seen = await read_while(engine, [ask(engine, **one) for one in asked])
    usages = [await ask(engine, **one) for one in asked[:1]]
    await engine.aclose()
    last = seen[-1]
    assert max(sample.waiting for sample in seen) >= 1, "all were let in at once"
    assert max(sample.running for sample in seen) >= 2
    assert last.preempted >= 1 and (last.running, last.waiting) == (0, 0)
    assert all(0 <= sample.kv_used <= 1 for sample in seen) and max(s.kv_used for s in seen) > 0.8
    assert last.generated_tokens == 8 * 200, "a request that gave way generates nothing twice"
    assert last.prompt_tokens == pytest.approx(8 * usages[0]["prompt_tokens"], abs=8)
    if kind == "sglang":
        assert last.evicted_tokens > 0


async def test_slots_bound_what_runs(serve):
    engine = await connect(await serve(slots=2, ttft_ms=100))
    seen = await read_while(engine, [ask(engine, **body(n)) for n in range(6)])
    await engine.aclose()
    assert max(sample.running for sample in seen) == 2 and max(sample.waiting for sample in seen) >= 1
    assert seen[-1].prompt_tokens > 0 and seen[-1].waiting == 0


async def test_sessions_evict_each_other_from_one_pool(serve):
    """Three sessions of 350 tokens and more in turns: a pool for all keeps them, a pool for one and a half loses them
    (the tails first, the least recently used session before the others)."""

    async def cached(pool):
        engine = await connect(await serve(pool_tokens=pool, block_size=16))
        found = []
        for turns in (1, 2, 3, 4):
            for session in range(3):
                asked = body(session, turns, size=30, max_tokens=8, cache_salt=str(session))
                found.append((await ask(engine, **asked))["prompt_tokens_details"]["cached_tokens"])
        await engine.aclose()
        return found

    assert all(cached > 300 for cached in (await cached(4000))[3:])
    assert sum(await cached(600)) == 0


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
async def test_what_the_device_lost_comes_back_from_host_and_store(serve, kind):
    url = await serve(kind=kind, pool_tokens=800, host_tokens=1800, remote_tokens=100_000, block_size=16)
    engine = await connect(url)
    for session in range(8):
        await ask(engine, **body(session, size=30, max_tokens=4))
    before = await engine.telemetry()
    last, older, oldest = [
        (await ask(engine, **body(session, size=30, max_tokens=4)))["prompt_tokens_details"]["cached_tokens"]
        for session in (7, 4, 0)
    ]
    after = await engine.telemetry()
    await engine.aclose()
    assert last == older == oldest > 300
    tiers = ("cached_device_tokens", "cached_host_tokens", "cached_remote_tokens")
    assert [getattr(after, name) - getattr(before, name) for name in tiers] == [last, older, oldest]
    if kind == "vllm":
        assert after.external_cached_tokens - before.external_cached_tokens == older + oldest
        assert after.gauges["lmcache_hit_tokens"] == after.external_cached_tokens
    assert after.cached_tokens - before.cached_tokens == last + older + oldest


async def test_sglang_says_of_each_turn_which_tier_its_prefix_came_from(serve):
    url = await serve(kind="sglang", pool_tokens=800, host_tokens=1800, remote_tokens=100_000, block_size=16)
    engine = await connect(url)
    more = {"stream": True, "stream_options": {"include_usage": True}, **engine.request_fields()}
    for session in (*range(8), 7, 4, 0):
        asked = body(session, size=30, max_tokens=4, **more)
        answer = await engine.http.post(f"{url}/chat/completions", json=asked)
        reply = assemble(answer.content)
        usage = engine.usage(reply.usage, reply.extra)
        tiers = usage.cached_by_tier
    await engine.aclose()
    assert usage.cached_tokens == tiers["remote"] > 300 and tiers["device"] == tiers["host"] == 0


async def test_a_pool_in_use_is_not_reset(serve):
    url = await serve(ttft_ms=300)
    engine = await connect(url)
    task = asyncio.ensure_future(ask(engine, **body(1)))
    while (await engine.telemetry()).running == 0:
        await asyncio.sleep(0.005)
    assert await engine.reset_cache() == "no"
    await task
    assert await engine.reset_cache() == "yes"
    await engine.aclose()


async def test_a_client_that_goes_away_leaves_its_place(serve):
    url = await serve(slots=1, tok_s=5)
    engine = await connect(url)
    for _ in range(3):
        with pytest.raises(httpx.TimeoutException):
            await engine.http.post(f"{url}/chat/completions", json=body(1), timeout=0.1)
    while (sample := await engine.telemetry()).running:
        await asyncio.sleep(0.01)
    await engine.aclose()
    assert (sample.waiting, sample.kv_used) == (0, 0)
