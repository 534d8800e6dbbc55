"""The adapter of vLLM. Its facts come from /version, /metrics and, in dev mode, /server_info."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import httpx

from replayer.engines.base import EngineFacts, TelemetrySample, Tristate
from replayer.engines.json_values import known, section, text, tristate
from replayer.engines.openai.adapter import OpenAIEngine
from replayer.engines.prometheus import STARTED, Page, whole_label
from replayer.engines.vllm import VLLM
from replayer.wire.types import JsonObject

_PREFIX = "vllm:"
_NAMES = (
    "prompt_tokens_total prompt_tokens_cached_total prefix_cache_hits_total prefix_cache_queries_total "
    "generation_tokens_total num_requests_running num_requests_waiting num_preemptions_total kv_cache_usage_perc "
    "gpu_cache_usage_perc spec_decode_num_drafts_total spec_decode_num_draft_tokens_total "
    "spec_decode_num_accepted_tokens_total spec_decode_num_accepted_tokens_per_pos_total "
    "external_prefix_cache_hits_total external_prefix_cache_queries_total request_success_total cache_config_info "
    "num_requests_waiting_by_reason prompt_tokens_by_source_total prompt_tokens_cached_by_source_total "
    "gpu_prefix_cache_hits_total gpu_prefix_cache_queries_total"  # their names before 0.10
)
_LMCACHE = {
    "lmcache_requested_tokens": "lmcache:num_requested_tokens_total",
    "lmcache_hit_tokens": "lmcache:num_hit_tokens_total",
    "lmcache_local_bytes": "lmcache:local_cache_usage",
    "lmcache_remote_bytes": "lmcache:remote_cache_usage",
    "lmcache_remote_reads": "lmcache:num_remote_read_requests_total",
}
"""Gauge in the sample -> LMCache's own name, where it shares the engine's page."""
_REASONS = ("stop", "length", "abort", "error", "repetition")
_LAYOUT = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "ep": "enable_expert_parallel",
    "cp": "decode_context_parallel_size",
}
_SPECULATION = ("method", "model", "num_speculative_tokens", "prompt_lookup_max", "prompt_lookup_min")


class VllmEngine(OpenAIEngine):
    entry = VLLM
    metrics_path = "/metrics"
    metric_names = frozenset(_PREFIX + name for name in _NAMES.split()) | {STARTED, *_LMCACHE.values()}
    reset_path = "/reset_prefix_cache"
    tokenize_path = "/tokenize"
    salt_field = "cache_salt"
    _unit = 1
    """Tokens in what the prefix counters count."""
    # 0.21 leaves the details out of a stream without a hit (`multiturn-after-reset`)
    silent_cached = 0

    async def facts(self) -> EngineFacts:
        facts, version, page, info, offered = await asyncio.gather(
            super().facts(),
            self._version(),
            self._page_or_none(),
            self.get_json(f"{self.root}/server_info?config_format=json"),
            self.offered("/reset_prefix_cache", "/tokenize"),
        )
        config = section(info, "vllm_config")
        cache = page.labels("vllm:cache_config_info") if page else {}
        speculative = _speculative(page, config)
        self._restrict_sampling(version, speculative == "yes")
        return replace(
            facts,
            version=version,
            kv_pool_tokens=_pool(cache),
            block_size=whole_label(cache, "block_size"),
            effective=self._effective(cache, config),
            features={
                "metrics": "yes" if page else "no",
                "cache_reset": offered["/reset_prefix_cache"],
                "tokenize": offered["/tokenize"],
                "prefix_caching": tristate(cache.get("enable_prefix_caching")),
                "speculation": speculative,
                "min_p": "yes" if self.sampling_fields and "min_p" in self.sampling_fields else "no",
                "cached_tokens": "yes" if self.reports_cached else "unknown",
                "external_cache": tristate(page and page.total("vllm:external_prefix_cache_queries_total")),
            },
        )

    async def _page_or_none(self) -> Page | None:
        """The page for facts: an engine that cannot give it now still has facts."""
        try:
            return await self.page()
        except (httpx.HTTPError, ValueError):
            return None

    def _restrict_sampling(self, version: str | None, speculative: bool) -> None:
        """vLLM 0.21 logs that min_p and logit_bias do nothing under speculative decoding."""
        numbers = [int(part) for part in re.findall(r"[0-9]{1,9}", version or "")[:2]]
        if speculative and numbers and numbers <= [0, 21] and self.sampling_fields is not None:
            ignored = {"min_p", "logit_bias"}
            self.sampling_fields = {k: v for k, v in self.sampling_fields.items() if k not in ignored}

    def _effective(self, cache: dict[str, str], config: JsonObject) -> JsonObject:
        model, parallel = section(config, "model_config"), section(config, "parallel_config")
        speculation = section(config, "speculative_config")
        return known(
            {
                "kv_cache_dtype": cache.get("cache_dtype"),
                "weights": self.listed[0].get("root") if self.listed else None,
                "lora": [model["id"] for model in self.listed if model.get("parent")] or None,
                "kv_cache_dtype_resolved": _resolved(cache, text(model, "dtype")),
                "dtype": model.get("dtype"),
                "quantization": model.get("quantization"),
                **{short: parallel.get(name) for short, name in _LAYOUT.items()},
                "speculation": known({key: speculation.get(key) for key in _SPECULATION}) or None,
            }
        )

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        gauges = {
            "started": page.total(STARTED),
            **{word: page.total(name) for word, name in _LMCACHE.items()},
        }
        page = page.under(_PREFIX)
        total = page.total

        def first(*names: str) -> float | None:
            return next((value for name in names if (value := total(name)) is not None), None)

        queries = first("prefix_cache_queries_total", "gpu_prefix_cache_queries_total")
        hits = first("prefix_cache_hits_total", "gpu_prefix_cache_hits_total")
        prompt, cached = total("prompt_tokens_total"), total("prompt_tokens_cached_total")
        if (
            queries and prompt and cached is None
        ):  # once known: what is under way is counted by one of the two only
            block = whole_label(page.labels("cache_config_info"), "block_size")
            self._unit = max(self._unit, _unit(prompt / queries, block))
        usage = page.mean("kv_cache_usage_perc")
        gauges["waiting_for_capacity"] = total("num_requests_waiting_by_reason", reason="capacity")
        gauges["external_prefix_queries"] = total("external_prefix_cache_queries_total")
        gauges |= {f"finished_{r}": total("request_success_total", finished_reason=r) for r in _REASONS}
        return TelemetrySample(
            at=at,
            prompt_tokens=prompt,
            cached_tokens=hits * self._unit if cached is None and hits is not None else cached,
            prefix_queries=queries and queries * self._unit,
            generated_tokens=total("generation_tokens_total"),
            running=total("num_requests_running"),
            waiting=total("num_requests_waiting"),
            preempted=total("num_preemptions_total"),
            kv_used=usage if usage is not None else page.mean("gpu_cache_usage_perc"),
            drafts=total("spec_decode_num_drafts_total"),
            drafted=total("spec_decode_num_draft_tokens_total"),
            accepted=total("spec_decode_num_accepted_tokens_total"),
            accepted_per_position=page.by_position("spec_decode_num_accepted_tokens_per_pos_total"),
            cached_device_tokens=_cached(page, "device", "local_cache_hit"),
            cached_host_tokens=_cached(page, "host"),
            cached_remote_tokens=_cached(page, "p2p", "disk"),
            external_cached_tokens=total("external_prefix_cache_hits_total"),
            gauges=known(gauges),
        )


def _cached(page: Page, *sources: str) -> float | None:
    """Cached tokens of some sources: 0.32 counts each tier, 0.21 the device and all others."""
    names = ("prompt_tokens_cached_by_source_total", "prompt_tokens_by_source_total")
    rows = next((page.samples[name] for name in names if name in page.samples), [])
    found = [value for labels, value in rows if labels.get("source") in sources]
    return sum(found) if found else None


def _unit(prompt_per_query: float, block: int | None) -> int:
    """Of the prefix counters: V1 counted blocks up to 0.8, under the names of later versions."""
    return block if block and block >= 4 and 0.7 * block < prompt_per_query < 1.5 * block else 1


def _resolved(cache: dict[str, str], weights: str | None) -> str | None:
    """`auto` is the type of the weights."""
    return weights.removeprefix("torch.") if weights and cache.get("cache_dtype") == "auto" else None


def _speculative(page: Page | None, config: JsonObject) -> Tristate:
    if config:
        return "yes" if config.get("speculative_config") else "no"
    if page is None:
        return "unknown"
    return "yes" if page.total("vllm:spec_decode_num_drafts_total") is not None else "no"


def _pool(cache: dict[str, str]) -> int | None:
    """0.32 says it in tokens, 0.21 in blocks."""
    names = ("kv_cache_size_tokens", "num_gpu_blocks", "block_size")
    tokens, blocks, block = (whole_label(cache, name) for name in names)
    return blocks * block if tokens is None and blocks is not None and block is not None else tokens
