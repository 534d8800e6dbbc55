"""The adapter of SGLang. Facts come from /server_info; /health is never asked, because it generates a token."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import orjson

from replayer.engines.base import EngineFacts, TelemetrySample
from replayer.engines.json_values import known, section, text, tristate, whole
from replayer.engines.openai.adapter import OpenAIEngine
from replayer.engines.prometheus import Page
from replayer.engines.sglang import SGLANG
from replayer.engines.sglang.log import EFFECTIVE, SPECULATION
from replayer.traces.schema import Usage
from replayer.wire.counts import count
from replayer.wire.types import JsonObject

_PREFIX = "sglang:"
_TIERS = {"device": "device", "host": "host", "storage": "remote"}
"""SGLang's name of a cache tier -> ours."""
_COUNTERS = (
    *("prompt_tokens_total", "cached_tokens_total", "realtime_tokens_total", "generation_tokens_total"),
    *("num_retracted_requests_total", "evicted_tokens_total"),
)
_LOAD = ("num_running_reqs", "num_queue_reqs", "token_usage")
_GAUGES = (
    *("spec_accept_length", "spec_accept_rate", "cache_hit_rate", "gen_throughput", "num_retracted_reqs"),
    *("full_token_usage", "swa_token_usage", "kv_used_tokens", "swa_used_tokens", "max_total_num_tokens"),
)
"""Kept under their own names: each is of the last batch or interval, not of the run."""


class SglangEngine(OpenAIEngine):
    entry = SGLANG
    metrics_path = "/metrics"
    metric_names = frozenset(_PREFIX + name for name in (*_COUNTERS, *_LOAD, *_GAUGES))
    reset_path = "/flush_cache"
    tokenize_path = "/tokenize"
    salt_field = "cache_salt"
    # 0.5.12 gives null without a hit although it reports (`multiturn-repeat-cache-salt`)
    silent_cached = 0

    async def facts(self) -> EngineFacts:
        facts, info, offered = await asyncio.gather(
            super().facts(), self._info(), self.offered("/flush_cache", "/tokenize")
        )
        reports, disabled = info.get("enable_cache_report"), info.get("disable_radix_cache")
        if isinstance(reports, bool):
            self.reports_cached = reports
        return replace(
            facts,
            version=text(info, "version"),
            model=facts.model or text(info, "served_model_name"),
            context_length=whole(info, "context_length") or facts.context_length,
            kv_pool_tokens=whole(info, "max_total_num_tokens"),
            block_size=whole(info, "page_size"),
            effective=_effective(info),
            features={
                "metrics": tristate(info.get("enable_metrics")),
                "cached_tokens": tristate(reports),
                "tools": tristate(bool(info.get("tool_call_parser")) if info else None),
                "prefix_caching": tristate(None if disabled is None else not disabled),
                "speculation": tristate(bool(info.get("speculative_algorithm")) if info else None),
                "cache_reset": offered["/flush_cache"],
                "tokenize": offered["/tokenize"],
            },
        )

    async def _info(self) -> JsonObject:
        """/server_info, or its older name."""
        return section(await self.get_json(self.root + "/server_info")) or section(
            await self.get_json(self.root + "/get_server_info")
        )

    def request_fields(self) -> JsonObject:
        return {"return_cached_tokens_details": True}

    def usage(self, usage: JsonObject | None, extra: JsonObject) -> Usage | None:
        """`sglext` says from which tier the cached tokens came, with `return_cached_tokens_details`."""
        found, given = super().usage(usage, extra), section(section(extra, "sglext"), "cached_tokens_details")
        tiers = {
            name: tokens for key, name in _TIERS.items() if (tokens := count(given.get(key))) is not None
        }
        if found is None or not tiers:
            return found
        cached = found.cached_tokens if found.cached_tokens is not None else sum(tiers.values())
        return replace(found, cached_by_tier=tiers, cached_tokens=cached)

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        page = page.under(_PREFIX)
        total = page.total
        prompt, cached = total("prompt_tokens_total"), total("cached_tokens_total")
        if cached is None:
            cached = total("realtime_tokens_total", mode="prefill_cache")
        retracted = total("num_retracted_requests_total")
        if retracted is None and total("num_retracted_reqs") is not None:
            retracted = 0.0  # the counter is on the page only from the first one on
        tiers = _tiers(page)
        return TelemetrySample(
            at=at,
            prompt_tokens=prompt,
            cached_tokens=cached if cached is not None else (0.0 if prompt == 0 else None),
            prefix_queries=prompt,
            generated_tokens=total("generation_tokens_total"),
            running=total("num_running_reqs"),
            waiting=total("num_queue_reqs"),
            preempted=retracted,
            evicted_tokens=total("evicted_tokens_total"),
            kv_used=page.mean("token_usage"),
            cached_device_tokens=tiers.get("device"),
            cached_host_tokens=tiers.get("host"),
            cached_remote_tokens=tiers.get("storage"),
            gauges=known({name: page.mean(name) for name in _GAUGES}),
        )


def _tiers(page: Page) -> dict[str, float]:
    """Cached tokens by `cache_source`: `device`, `host`, and `storage_NAME` of any backend as `storage`."""
    sums: dict[str, float] = {}
    for labels, value in page.samples.get("cached_tokens_total", []):
        tier = labels.get("cache_source", "").partition("_")[0]
        sums[tier] = sums.get(tier, 0.0) + value
    return sums


def _effective(info: JsonObject) -> JsonObject:
    found = {word: info.get(key) for word, key in EFFECTIVE.items()}
    if found["disaggregation"] == "null":
        found["disaggregation"] = None
    speculation = known({word: info.get(key) for word, key in SPECULATION.items()})
    found["speculation"] = speculation if speculation.get("method") else None
    found["kv_cache_dtype_resolved"] = _resolved(info)
    states = info.get("internal_states")
    memory = section(states[0] if isinstance(states, list) and states else {}, "memory_usage")
    size, capacity = memory.get("kvcache"), whole(memory, "token_capacity")
    found["kv_cache_gb"] = size
    if isinstance(size, float) and capacity:
        found["kv_bytes_per_token"] = round(size * 2**30 / capacity)
    return known(found)


def _resolved(info: JsonObject) -> str | None:
    """What `auto` came to: the type of the weights, or of the KV scales beside them. The server does not say it; the
    model's own file does where it is on this machine, and else its log (`LogSettings`)."""
    folder = text(info, "model_path")
    if info.get("kv_cache_dtype") != "auto" or folder is None:
        return None
    try:
        config = section(orjson.loads((Path(folder) / "config.json").read_bytes()))
    except (OSError, ValueError):
        return None
    if section(config, "quantization_config", "kv_cache_scheme"):
        return "fp8"
    return text(config, "torch_dtype") or text(config, "dtype")
