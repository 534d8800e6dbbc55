"""What real servers said, read into the common form. The tables state what each captured page and body means."""

import csv
from pathlib import Path

import httpx
import orjson
import pytest

from replayer.engines.prometheus import parse
from replayer.engines.registry import KINDS

HERE = Path(__file__).parent
CAPTURES = HERE.parent / "captures"
FOLDERS = {"vllm": "vllm", "sgla": "sglang", "llam": "llamacpp", "ik_l": "ik_llama"}


def table(name):
    with (HERE / name).open() as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


HTTP = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(404)))
"""Never used: what is read here was captured."""


async def adapter(file):
    return KINDS[FOLDERS[file[:4]]].open("http://engine/v1", HTTP)


def last_object(text):
    """The chunk or body that carries the usage, and its extras."""
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:") and "[DONE]" not in line]
    objects = [orjson.loads(line) for line in lines] if lines else [orjson.loads(text)]
    return next(item for item in reversed(objects) if item.get("usage"))


async def test_every_usage_object_means_what_the_table_says():
    rows = table("captured_usage.tsv")
    for row in rows:
        engine = await adapter(row["file"])
        body = last_object((CAPTURES / row["file"]).read_text(errors="replace"))
        usage = engine.usage(body["usage"], {"timings": body["timings"]} if "timings" in body else {})
        read = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.reasoning_tokens)
        wanted = tuple(None if row[k] == "unknown" else int(row[k]) for k in list(row)[1:])
        assert read == wanted, row["file"]
    assert len(rows) > 150


async def test_every_error_body_maps_to_its_kind_in_one_line_with_a_remedy():
    rows = table("captured_errors.tsv")
    for row in rows:
        engine = await adapter(row["file"])
        fault = engine.fault(int(row["status"]), (CAPTURES / row["file"]).read_text())
        assert fault.kind == row["kind"], row["file"]
        assert "\n" not in fault.message and " — " in fault.message, row["file"]
        assert len(fault.message) < 480
    assert {row["kind"] for row in rows} >= {"context_too_long", "unknown_model", "bad_tools", "bad_request"}


PAGES = [
    # file, prompt, cached, generated, drafts, drafted, accepted
    ("vllm-0.21.0-h200/spec-ngram/get-metrics-after.response.txt", 44531, 32368, 2004, 221, 778, 607),
    ("vllm-0.32-cpu/plain/get-metrics-after.response.txt", 25210, 15104, 2005, None, None, None),
    ("vllm-0.32-cpu/speculation/get-metrics-after.response.txt", 17577, 8960, 617, 109, 422, 297),
    ("vllm-0.32-cpu/speculation/metrics-final.txt", 20800, 8960, 1258, 114, 442, 302),
    ("vllm-0.32-cpu/per-request-metrics/get-metrics-after.response.txt", 17614, 11968, 665, 115, 446, 321),
    ("sglang-0.5.23-cpu/get-metrics-after.response.txt", 24650, 15821, 2189, None, None, None),
    ("sglang-0.5.12-h200/nospec/get-metrics-after.response.txt", 45096, 33197, 2500, None, None, None),
    ("sglang-0.5.12-h200/spec-ngram/get-metrics-after.response.txt", 45096, 33174, 2195, None, None, None),
    ("llama.cpp/own-template/99_metrics_after.response.body", 2486 + 6743, 6743, 2572, 0, 0, 0),
    ("llama.cpp/tools/99_metrics_after.response.body", 2700 + 14820, 14820, 1063, 0, 0, 0),
    ("llama.cpp/speculation-draft/99_metrics_after.response.body", 119 + 24, 24, 72, 15, 59, 59),
    ("llama.cpp/speculation-ngram/99_metrics_after.response.body", 119 + 24, 24, 72, 2, 84, 19),
    ("ik_llama.cpp/99_metrics_after.response.body", None, None, 121, None, None, None),
]


@pytest.mark.parametrize(("file", "prompt", "cached", "generated", "drafts", "drafted", "accepted"), PAGES)
async def test_metrics_pages(file, prompt, cached, generated, drafts, drafted, accepted):
    engine = await adapter(file)
    sample = engine.sample(parse((CAPTURES / file).read_text(), engine.metric_names), 1.0)
    assert (sample.prompt_tokens, sample.cached_tokens, sample.generated_tokens) == (
        prompt,
        cached,
        generated,
    )
    assert (sample.drafts, sample.drafted, sample.accepted) == (drafts, drafted, accepted)
    assert sample.waiting == 0
    if sample.accepted_per_position:
        assert sum(sample.accepted_per_position) == accepted


async def test_sglangs_gauges_are_kept_apart_from_counters():
    """Its cache_hit_rate is that of the last batch, its acceptance that of the last interval."""
    file = "sglang-0.5.12-h200/spec-ngram/get-metrics-after.response.txt"
    sample = (await adapter(file)).sample(parse((CAPTURES / file).read_text()), 1.0)
    assert sample.gauges["cache_hit_rate"] == 0 and sample.cached_tokens == 33174
    assert sample.gauges["spec_accept_length"] == 1.075
    assert sample.gauges["max_total_num_tokens"] == 1917102


async def test_external_cache_counters_are_kept_apart():
    """LMCache behind vLLM counts in `external_prefix_cache_*`, never in the engine's own cache."""
    page = parse(
        'vllm:prompt_tokens_total{engine="0"} 900.0\nvllm:prefix_cache_hits_total{engine="0"} 100.0\n'
        'vllm:external_prefix_cache_hits_total{engine="0"} 256.0\n'
        'vllm:external_prefix_cache_queries_total{engine="0"} 800.0\n'
    )
    sample = (await adapter("vllm")).sample(page, 1.0)
    assert (sample.cached_tokens, sample.external_cached_tokens) == (100, 256)
    assert sample.gauges["external_prefix_queries"] == 800


@pytest.mark.parametrize(
    ("file", "device", "others"),
    [
        ("vllm-0.21.0-h200/spec-ngram/get-metrics-after.response.txt", 32368, None),
        ("vllm-0.32-cpu/plain/get-metrics-after.response.txt", 15104, 0),
        ("sglang-0.5.23-cpu/get-metrics-after.response.txt", 15821, None),
    ],
)
async def test_cached_tokens_by_tier(file, device, others):
    engine = await adapter(file)
    sample = engine.sample(parse((CAPTURES / file).read_text(), engine.metric_names), 1.0)
    assert sample.cached_device_tokens == sample.cached_tokens == device
    assert (sample.cached_host_tokens, sample.cached_remote_tokens) == (others, others)


PRESSED = """\
sglang:num_retracted_reqs{engine_type="unified",pid="7163",tp_rank="0"} 0.0
sglang:token_usage{engine_type="unified",tp_rank="0"} 0.92
sglang:prompt_tokens_total{engine_type="unified",model_name="smollm2"} 875348.0
sglang:evicted_tokens_total{cache_type="RadixCache"} 1.022215e+06
sglang:num_retracted_requests_total{engine_type="unified",tp_rank="0"} 5.0
"""
"""Of SGLang 0.5.12 on an H200 after twelve sessions on a pool for one (the gauge is back at 0 by then)."""


async def test_retractions_and_evictions_of_a_pool_that_was_too_small():
    engine = await adapter("sglang")
    sample = engine.sample(parse(PRESSED, engine.metric_names), 1.0)
    assert (sample.preempted, sample.evicted_tokens, sample.kv_used) == (5, 1_022_215, 0.92)
    assert sample.cached_tokens is None, "no hit was counted, which an absent counter does not say"
    quiet = "\n".join(PRESSED.splitlines()[:3])
    assert engine.sample(parse(quiet, engine.metric_names), 1.0).preempted == 0


async def test_lmcache_counts_beside_the_engine():
    page = parse(
        'vllm:external_prefix_cache_hits_total{engine="0"} 1102.0\n'
        'lmcache:num_requested_tokens_total{model_name="m",worker_id="0"} 2048.0\n'
        'lmcache:num_hit_tokens_total{model_name="m",worker_id="0"} 1103.0\n'
        'lmcache:num_remote_read_requests_total{model_name="m",worker_id="0"} 4.0\n'
    )
    sample = (await adapter("vllm")).sample(page, 1.0)
    assert sample.external_cached_tokens == 1102
    assert sample.gauges["lmcache_hit_tokens"] == 1103 and sample.gauges["lmcache_remote_reads"] == 4
