"""Metrics pages as they come: exemplars, values that are not numbers, several models, broken lines, refusals."""

from __future__ import annotations

import httpx
import pytest

from replayer.engines.prometheus import parse
from replayer.engines.registry import KINDS
from replayer.telemetry.deltas import deltas
from replayer.telemetry.sampler import read


def served(page: str, kind: str = "vllm", status: int = 200):
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(status, text=page)))
    return KINDS[kind].open("http://engine/v1", http)


ODD = """\
# HELP vllm:generation_tokens counter
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{engine="0",model_name="a"} 120.0 # {trace_id="4bf92f"} 1.0 1770000000.1
vllm:prompt_tokens_total{engine="0",model_name="a"} 1e3
vllm:num_requests_running{engine="0",model_name="a"} NaN
vllm:kv_cache_usage_perc{engine="0",model_name="a"} +Inf
vllm:num_requests_waiting{engine="0",model_name="a} 3
vllm:prefix_cache_hits_total{engine="0",model_name="a"} 640
vllm:a_metric_of_next_year{x="y"} 7
# EOF
"""


async def test_a_page_in_open_metrics_with_odd_values_and_a_broken_line_is_read():
    engine = served(ODD)
    sample = await read(engine)
    await engine.aclose()
    assert (sample["generated_tokens"], sample["prompt_tokens"], sample["cached_tokens"]) == (120, 1000, 640)
    assert not sample.keys() & {"missing", "running", "kv_used", "waiting"}


async def test_two_models_on_one_page_are_told_apart_once_one_is_chosen():
    page = "".join(
        f'vllm:generation_tokens_total{{engine="0",model_name="{name}"}} {count}\n'
        for name, count in (("a", 10), ("b", 32))
    )
    engine = served(page + "process_start_time_seconds 1.5\n")
    both = await read(engine)
    engine.model = "b"
    one = await read(engine)
    engine.model = "an adapter that the page does not name"
    unnamed = await read(engine)
    await engine.aclose()
    assert [sample["generated_tokens"] for sample in (both, one, unnamed)] == [42, 32, 42]
    assert one["gauges"]["started"] == 1.5


async def test_names_before_vllm_0_10_are_read():
    page = 'vllm:gpu_prefix_cache_hits_total{m="a"} 48\nvllm:gpu_prefix_cache_queries_total{m="a"} 96\n'
    engine = served(page)
    sample = await read(engine)
    await engine.aclose()
    assert (sample["cached_tokens"], sample["prefix_queries"]) == (48, 96)


@pytest.mark.parametrize(("queries", "cached"), [(640, 768), (10_240, 48)])
async def test_counters_of_vllm_0_8_that_count_blocks_are_read_as_tokens(queries, cached):
    """Under one name, V1 counted blocks first and tokens later: what was asked beside it tells which."""
    lines = (
        ("cache_config_info", 'block_size="16"', 1), ("prompt_tokens_total", 'm="a"', 10_500),
        ("gpu_prefix_cache_hits_total", 'm="a"', 48), ("gpu_prefix_cache_queries_total", 'm="a"', queries),
    )  # fmt: skip
    engine = served("".join(f"vllm:{name}{{{labels}}} {value}\n" for name, labels, value in lines))
    sample = await read(engine)
    await engine.aclose()
    assert (sample["cached_tokens"], sample["prefix_queries"]) == (cached, 10_240)


@pytest.mark.parametrize(
    ("status", "page", "why"),
    [
        (404, "", "off"),
        (501, "no metrics here", "off"),
        (401, "key?", "the metrics page answers with status 401"),
        (503, "", "the metrics page answers with status 503"),
    ],
)
async def test_a_page_that_is_refused_says_why(status, page, why):
    engine = served(page, status=status)
    sample = await read(engine)
    await engine.aclose()
    assert sample["missing"] == why


def test_a_page_of_which_nothing_can_be_read_is_refused():
    with pytest.raises(ValueError):
        parse("<html>Sign in</html>\n")
    assert parse("", frozenset({"x"})).samples == {}


def test_a_counter_that_appears_with_its_first_count_began_at_zero():
    """prometheus_client writes a counter with labels only once it was used."""
    readings = [{"at": 0, "running": 0}, {"at": 1, "prompt_tokens": 100}, {"at": 2, "prompt_tokens": 150}]
    total = deltas(readings)
    assert (total.counters, total.resets, total.complete) == ({"prompt_tokens": 150}, 0, True)


def test_a_restart_is_told_by_the_process_where_counters_have_overtaken():
    readings = [
        {"at": 0, "prompt_tokens": 100, "gauges": {"started": 1.0}},
        {"at": 1, "prompt_tokens": 300, "gauges": {"started": 2.0}},
    ]
    total = deltas(readings)
    assert (total.counters, total.resets, total.complete) == ({"prompt_tokens": 300}, 1, False)


def test_a_counter_that_is_gone_after_a_restart_is_a_restart():
    readings = [{"at": 0, "prompt_tokens": 100}, {"at": 1, "running": 0}, {"at": 2, "prompt_tokens": 40}]
    total = deltas(readings)
    assert (total.counters, total.resets) == ({"prompt_tokens": 40}, 1)


@pytest.mark.parametrize(
    ("kind", "status", "said", "expected"),
    [
        ("vllm", 400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", "context_too_long"),
        ("sglang", 400, "Input length (9000 tokens) exceeds the maximum allowed length (8186 tokens).", "context_too_long"),
        ("trtllm", 400, "default_max_tokens (-8) should be greater than 0, default_max_tokens (-8) = max_seq_len (8192) - "
         "splited_prompt_len (8200)", "context_too_long"),
        ("openai", 400, "litellm.ContextWindowExceededError: litellm.BadRequestError", "context_too_long"),
        ("openai", 422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", "context_too_long"),
        ("openai", 400, "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "bad_request"),
        ("openai", 400, "An assistant message with 'tool_calls' must be followed by tool messages", "bad_request"),
        ("openai", 404, "No endpoints found that support tool use.", "bad_tools"),
        ("llamacpp", 500, "tools param requires --jinja flag", "bad_tools"),
    ],
)  # fmt: skip
async def test_what_engines_and_gateways_say_is_one_kind(kind, status, said, expected):
    engine = served("", kind)
    body = httpx.Response(status, json={"error": {"message": said}}).text
    assert engine.fault(status, body).kind == expected
    await engine.aclose()


@pytest.mark.parametrize(
    ("more", "cached"),
    [
        ({"prompt_tokens_details": None}, None),
        ({"prompt_tokens_details": {"cached_tokens": None}}, None),
        ({"prompt_tokens_details": {"cached_tokens": 4.0}}, 4),
        ({"prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 4}, 6),
        ({"cached_tokens": 0}, 0),
        ({"cached_tokens": -1}, None),
        ({"cached_tokens": True}, None),
    ],
)
async def test_cached_tokens_by_the_names_that_gateways_give_them(more, cached):
    engine = served("", "openai")
    usage = engine.usage({"prompt_tokens": 10.0, "completion_tokens": 2} | more, {})
    await engine.aclose()
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == (10, cached, 2)
