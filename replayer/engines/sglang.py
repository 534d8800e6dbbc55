"""SGLang 0.5. Facts come from /server_info; /health is never asked, because it generates a token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from replayer.engines.base import EngineFacts, EngineKind, TelemetrySample, Tristate
from replayer.engines.faults import Rule
from replayer.engines.openai import OpenAIEngine
from replayer.engines.prometheus import Page, known

_PREFIX = "sglang:"
_EFFECTIVE = {
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "dtype": "dtype",
    "attention_backend": "attention_backend",
    "weights": "model_path",
    "tp": "tp_size",
    "pp": "pp_size",
    "dp": "dp_size",
    "ep": "ep_size",
    "dp_attention": "enable_dp_attention",
    "disaggregation": "disaggregation_mode",
    "lora": "lora_paths",
    "tool_call_parser": "tool_call_parser",
    "reasoning_parser": "reasoning_parser",
    "chunked_prefill_size": "chunked_prefill_size",
    "max_running_requests": "max_running_requests",
}
"""Common word -> key of /server_info."""
_SPECULATION = {
    "method": "speculative_algorithm",
    "model": "speculative_draft_model_path",
    "num_steps": "speculative_num_steps",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "eagle_topk": "speculative_eagle_topk",
}


_COUNTERS = ("prompt_tokens_total", "cached_tokens_total", "realtime_tokens_total", "generation_tokens_total")
_LOAD = ("num_running_reqs", "num_queue_reqs", "token_usage")
_GAUGES = (
    *("spec_accept_length", "spec_accept_rate", "cache_hit_rate", "gen_throughput", "num_retracted_reqs"),
    *("full_token_usage", "swa_token_usage", "kv_used_tokens", "swa_used_tokens", "max_total_num_tokens"),
)
"""Kept under their own names: each is of the last batch or interval, not of the run."""


class SglangEngine(OpenAIEngine):
    kind: EngineKind = "sglang"
    context_flag = "--context-length"
    metrics_path = "/metrics"
    metric_names = frozenset(_PREFIX + name for name in (*_COUNTERS, *_LOAD, *_GAUGES))
    rules: ClassVar[Sequence[Rule]] = (
        (re.compile(r"function\.arguments must be valid JSON|expected a string key", re.I), "bad_request"),
        (re.compile(r"\btools? (?:list|choice|\d+ function)|^Tools? ", re.I), "bad_tools"),
    )

    async def facts(self) -> EngineFacts:
        models = await self.models()
        info = await self._info()
        reports = info.get("enable_cache_report")
        if isinstance(reports, bool):
            self.reports_cached = reports
        metrics = info.get("enable_metrics")
        parser = info.get("tool_call_parser")
        disabled = info.get("disable_radix_cache")
        return EngineFacts(
            kind=self.kind,
            base_url=self.base_url,
            version=info.get("version"),
            model=models[0]["id"] if models else info.get("served_model_name"),
            models=tuple(entry["id"] for entry in models),
            context_length=info.get("context_length") or (models[0].get("max_model_len") if models else None),
            kv_pool_tokens=info.get("max_total_num_tokens"),
            block_size=info.get("page_size"),
            promises_done=True,
            promises_usage=True,
            effective=_effective(info),
            features={
                "metrics": _yes(metrics),
                "cached_tokens": _yes(reports),
                "tools": "unknown" if not info else "yes" if parser else "no",
                "prefix_caching": "unknown" if disabled is None else "no" if disabled else "yes",
                "speculation": "unknown" if not info else _yes(bool(info.get("speculative_algorithm"))),
                "cache_reset": await self.offers("/flush_cache"),
                "tokenize": await self.offers("/tokenize"),
            },
        )

    async def _info(self) -> dict[str, Any]:
        """/server_info, or its older name."""
        for path in ("/server_info", "/get_server_info"):
            info = await self.get_json(self.root + path)
            if isinstance(info, dict):
                return info
        return {}

    def unreported_cached(self) -> int | None:
        """0.5.12 gives null without a hit although it reports (`multiturn-repeat-cache-salt`): that is 0."""
        return 0

    def request_fields(self) -> dict[str, Any]:
        return {"return_cached_tokens_details": True}

    def isolation(self, salt: str) -> dict[str, Any]:
        return {"cache_salt": salt}

    async def reset_cache(self) -> Tristate:
        return await self._reset_by("/flush_cache")

    async def tokenize(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> list[int] | None:
        return await self._tokenize_chat(messages, tools)

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        def total(name: str) -> float | None:
            return page.total(_PREFIX + name)

        prompt, cached = total("prompt_tokens_total"), total("cached_tokens_total")
        if cached is None:
            cached = page.total("sglang:realtime_tokens_total", mode="prefill_cache")
        return TelemetrySample(
            at=at,
            prompt_tokens=prompt,
            cached_tokens=cached if cached is not None else (0.0 if prompt == 0 else None),
            prefix_queries=prompt,
            generated_tokens=total("generation_tokens_total"),
            running=total("num_running_reqs"),
            waiting=total("num_queue_reqs"),
            kv_used=page.mean("sglang:token_usage"),
            gauges=known((name, page.mean(_PREFIX + name)) for name in _GAUGES),
        )


def _effective(info: dict[str, Any]) -> dict[str, Any]:
    found = {word: info.get(key) for word, key in _EFFECTIVE.items()}
    if found["disaggregation"] == "null":
        found["disaggregation"] = None
    speculation = {word: info.get(key) for word, key in _SPECULATION.items() if info.get(key) is not None}
    found["speculation"] = speculation if speculation.get("method") else None
    memory = ((info.get("internal_states") or [{}])[0] or {}).get("memory_usage")
    if isinstance(memory, dict):
        found["kv_cache_gb"] = memory.get("kvcache")
    return {key: value for key, value in found.items() if value is not None}


def _yes(value: Any) -> Tristate:
    return "unknown" if value is None else "yes" if value else "no"
