"""Adapters against simulated servers of each kind, and against captured ones played back."""

from pathlib import Path

import httpx
import pytest

from replayer.engines.detect import base_url_of, connect
from replayer.engines.sampling_fields import unknown_fields
from replayer.errors import EngineUnavailable, PlanError

CAPTURES = Path(__file__).parents[1] / "captures"
KINDS = ["vllm", "sglang", "trtllm", "llamacpp", "ik_llama"]
ASK = {"model": "simulated", "messages": [{"role": "user", "content": "Explain the failing test " * 40}]}


async def chat(engine, **more):
    reply = await engine.http.post(f"{engine.base_url}/chat/completions", json=ASK | more)
    body = reply.json()
    extra = {key: body[key] for key in ("timings", "metrics") if key in body}
    return engine.usage(body.get("usage"), extra)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_is_recognised_and_tells_its_facts(serve, kind):
    url = await serve(kind=kind, context_length=32768, pool_tokens=64000, block_size=16, draft_tokens=3)
    engine = await connect(url)
    await chat(engine)
    facts = await engine.facts()
    await engine.aclose()
    assert (engine.kind, facts.kind, facts.model, facts.models) == (kind, kind, "simulated", ("simulated",))
    assert facts.context_length == (None if kind == "trtllm" else 32768)
    assert facts.kv_pool_tokens == (32768 if kind in ("llamacpp", "ik_llama") else 64000)
    assert facts.block_size == (1 if kind in ("llamacpp", "ik_llama") else 16)
    assert facts.version
    assert facts.features["speculation"] == {"ik_llama": "unknown"}.get(kind, "yes")


@pytest.mark.parametrize("kind", KINDS)
async def test_usage_and_counters_agree_to_the_token(serve, kind):
    url = await serve(kind=kind, draft_tokens=3, block_size=16)
    engine = await connect(url)
    first = await chat(engine)
    second = await chat(engine)
    sample = await engine.telemetry()
    await engine.aclose()
    assert first.cached_tokens == 0 and second.cached_tokens == (second.prompt_tokens - 1) // 16 * 16
    cached = first.cached_tokens + second.cached_tokens
    if kind == "ik_llama":
        assert (sample.cached_tokens, sample.prompt_tokens) == (None, None)
        assert sample.gauges["prompt_tokens_computed"] == first.prompt_tokens * 2 - cached
    else:
        assert sample.cached_tokens == cached
        assert sample.prefix_queries == pytest.approx(
            first.prompt_tokens * 2, abs=16 if kind == "trtllm" else 0
        )
    if kind != "trtllm":
        assert sample.generated_tokens == first.completion_tokens + second.completion_tokens
        assert (sample.running, sample.waiting) == (0, 0)
    if kind in ("vllm", "llamacpp", "trtllm"):
        assert 0 < sample.accepted <= sample.drafted == 3 * sample.drafts
    if kind in ("vllm", "llamacpp"):
        assert sum(sample.accepted_per_position) == sample.accepted


@pytest.mark.parametrize(
    ("kind", "answer"), [("vllm", "yes"), ("sglang", "yes"), ("llamacpp", "yes"), ("trtllm", "unknown")]
)
async def test_the_cache_is_reset_where_it_can_be(serve, kind, answer):
    url = await serve(kind=kind)
    engine = await connect(url)
    await chat(engine)
    assert await engine.reset_cache() == answer
    usage = await chat(engine)
    await engine.aclose()
    assert (usage.cached_tokens == 0) == (answer == "yes")


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
async def test_a_salt_isolates_and_tokens_are_the_prompts(serve, kind):
    engine = await connect(await serve(kind=kind))
    first = await chat(engine)
    salted = await chat(engine, **engine.isolation("session-2"))
    tokens = await engine.tokenize(ASK["messages"], None)
    await engine.aclose()
    assert first.cached_tokens == salted.cached_tokens == 0
    assert len(tokens) == first.prompt_tokens


async def test_not_reported_is_not_zero(serve):
    """Streamed usage of a vLLM without --enable-prompt-tokens-details has no details at all."""
    engine = await connect(await serve(kind="vllm", report_cached=False))
    usage = await chat(engine)
    await engine.aclose()
    assert usage.prompt_tokens > 0 and usage.cached_tokens is None


async def test_a_vllm_that_reports_means_zero_by_silence(serve):
    """0.21 leaves `prompt_tokens_details` out of a stream without a hit (vllm-0.21.0-h200)."""
    engine = await connect(await serve(kind="vllm"))
    silent = {"prompt_tokens": 10, "completion_tokens": 1}
    assert engine.usage(silent, {}).cached_tokens is None
    assert engine.usage(silent | {"prompt_tokens_details": {"cached_tokens": 8}}, {}).cached_tokens == 8
    assert engine.usage(silent, {}).cached_tokens == 0
    await engine.aclose()


@pytest.mark.parametrize(
    ("folder", "kind", "version", "context", "pool", "block"),
    [
        ("vllm-0.32-cpu/plain", "vllm", "0.32.0", 8192, 46592, 128),
        ("vllm-0.21.0-h200/spec-ngram", "vllm", "0.21.0", 8192, 1849696, 16),
        ("sglang-0.5.23-cpu", "sglang", "0.5.23", 8192, 40000, 1),
        ("sglang-0.5.12-h200/spec-ngram", "sglang", "0.5.12.post1", 8192, 1917102, 1),
        ("llama.cpp/own-template", "llamacpp", "b0-unknown", 8192, 16384, 1),
        ("llama.cpp/tools", "llamacpp", "b0-unknown", 8192, 16384, 1),
        ("ik_llama.cpp", "ik_llama", None, 4096, 8192, 1),
    ],
)
async def test_captured_servers_are_read_as_if_they_ran(serve, folder, kind, version, context, pool, block):
    url = await serve(kind=kind, captures=str(CAPTURES / folder))
    engine = await connect(url)
    facts = await engine.facts()
    await engine.aclose()
    assert (facts.kind, facts.version, facts.context_length) == (kind, version, context)
    assert (facts.kv_pool_tokens, facts.block_size) == (pool, block)


async def test_unreachable_wrong_key_and_unknown_kind_are_one_sentence_each(serve):
    url = await serve(api_key="secret")
    with pytest.raises(EngineUnavailable, match="wants an API key"):
        await connect(url)
    with pytest.raises(EngineUnavailable, match="refuses this API key"):
        await connect(url, api_key="wrong")
    with pytest.raises(EngineUnavailable, match="cannot be reached"):
        await connect("http://127.0.0.1:9/v1")
    with pytest.raises(PlanError, match="did you mean 'vllm'"):
        await connect(url, kind="vlm")
    engine = await connect(url, api_key="secret")
    assert (await engine.facts()).model == "simulated"
    await engine.aclose()


async def test_a_proxy_of_the_environment_is_never_asked_for_this_machine(serve, monkeypatch):
    """Neither by the timed streams (tests/wire) nor by what reads facts and metrics."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    engine = await connect(await serve(kind="vllm"))
    facts, sample = await engine.facts(), await engine.telemetry()
    await engine.aclose()
    assert (facts.kind, facts.model, sample.running) == ("vllm", "simulated", 0)
    with pytest.raises(EngineUnavailable, match="cannot be reached"):
        await connect("http://engine.example/v1")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.delenv("HTTP_PROXY")
    with pytest.raises(PlanError, match="SOCKS proxy, which is not supported"):
        await connect("http://engine.example/v1")


async def test_an_unknown_server_is_openai_and_promises_nothing():
    def answer(request):
        return httpx.Response(
            200, json={"data": [{"id": "m", "owned_by": "someone"}]} if "models" in request.url.path else None
        )

    engine = await connect(
        "https://gateway.example/openai/v1", http=httpx.AsyncClient(transport=httpx.MockTransport(answer))
    )
    facts = await engine.facts()
    assert (facts.kind, facts.model, facts.promises_usage, engine.sampling_fields) == (
        "openai",
        "m",
        None,
        None,
    )
    assert await engine.telemetry() is None and await engine.reset_cache() == "unknown"
    await engine.aclose()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://h:8000", "http://h:8000/v1"),
        ("http://h:8000/v1/", "http://h:8000/v1"),
        ("https://g/openai/v1/chat/completions", "https://g/openai/v1"),
    ],
)
def test_urls_are_normalised(given, used):
    assert base_url_of(given) == used


async def test_sampling_fields_are_refused_with_the_nearest(serve):
    engine = await connect(await serve(kind="llamacpp"))
    unknown = unknown_fields(
        {"temperature": 1, "repetition_penalty": 1.1, "mim_p": 0.1}, engine.sampling_fields
    )
    await engine.aclose()
    assert unknown == [("repetition_penalty", "repeat_penalty"), ("mim_p", "min_p")]


@pytest.mark.parametrize(
    ("config", "resolved"),
    [
        ('{"torch_dtype": "bfloat16"}', "bfloat16"),
        ('{"dtype": "bfloat16", "quantization_config": {"kv_cache_scheme": {"num_bits": 8}}}', "fp8"),
        (None, None),
    ],
)
async def test_what_auto_came_to_on_sglang(serve, tmp_path, config, resolved):
    """The server says `auto` for ever; the model's own file, where it is here, says what that means."""
    if config:
        (tmp_path / "config.json").write_text(config)
    engine = await connect(await serve(kind="sglang", model=str(tmp_path)))
    effective = (await engine.facts()).effective
    await engine.aclose()
    assert (effective["kv_cache_dtype"], effective.get("kv_cache_dtype_resolved")) == ("auto", resolved)
