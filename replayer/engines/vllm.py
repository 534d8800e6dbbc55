"""vLLM 0.21 to 0.32. Server facts come from /version, /metrics and, in dev mode, /server_info."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from replayer.engines.base import EngineFacts, EngineKind, TelemetrySample, Tristate
from replayer.engines.faults import Rule
from replayer.engines.openai import OpenAIEngine, _dict, _length
from replayer.engines.prometheus import STARTED, Page, known

_PREFIX = "vllm:"


_NAMES = (
    "prompt_tokens_total prompt_tokens_cached_total prefix_cache_hits_total prefix_cache_queries_total "
    "generation_tokens_total num_requests_running num_requests_waiting num_preemptions_total kv_cache_usage_perc "
    "gpu_cache_usage_perc spec_decode_num_drafts_total spec_decode_num_draft_tokens_total "
    "spec_decode_num_accepted_tokens_total spec_decode_num_accepted_tokens_per_pos_total "
    "external_prefix_cache_hits_total external_prefix_cache_queries_total request_success_total cache_config_info "
    "gpu_prefix_cache_hits_total gpu_prefix_cache_queries_total"  # their names before 0.10
)


class VllmEngine(OpenAIEngine):
    kind: EngineKind = "vllm"
    context_flag = "--max-model-len"
    metrics_path = "/metrics"
    metric_names = frozenset(_PREFIX + name for name in _NAMES.split()) | {STARTED}
    rules: ClassVar[Sequence[Rule]] = (
        (re.compile(r"tool_choice|^Grammar error", re.I), "bad_tools"),
        (re.compile(r"^Expecting property name|Expecting value: line", re.I), "bad_request"),
    )

    async def facts(self) -> EngineFacts:
        models = await self.models()
        version = _dict({"it": await self.get_json(f"{self.root}/version")}, "it").get("version")
        page = await self.page_or_none()
        config = await self._config()
        cache = page.labels("vllm:cache_config_info") if page else {}
        speculative = self._speculative(page, config)
        self._restrict_sampling(version, speculative == "yes")
        model = models[0] if models else {}
        return EngineFacts(
            kind=self.kind,
            base_url=self.base_url,
            version=version,
            model=model.get("id"),
            models=tuple(entry["id"] for entry in models),
            context_length=_length(model),
            kv_pool_tokens=_pool(cache),
            block_size=_int(cache.get("block_size")),
            promises_done=True,
            promises_usage=True,
            effective=self._effective(models, cache, config),
            features={
                "metrics": "yes" if page else "no",
                "cache_reset": await self.offers("/reset_prefix_cache"),
                "tokenize": await self.offers("/tokenize"),
                "prefix_caching": _tristate(cache.get("enable_prefix_caching")),
                "speculation": speculative,
                "min_p": "yes" if self.sampling_fields and "min_p" in self.sampling_fields else "no",
                "cached_tokens": "yes" if self.reports_cached else "unknown",
                "external_cache": _used(page, "vllm:external_prefix_cache_queries_total"),
            },
        )

    async def page_or_none(self) -> Page | None:
        """The page for facts: an engine that cannot give it now still has facts."""
        import httpx

        try:
            return await self.page()
        except (httpx.HTTPError, ValueError):
            return None

    async def _config(self) -> dict[str, Any]:
        info = await self.get_json(f"{self.root}/server_info?config_format=json")
        return _dict(info, "vllm_config") if isinstance(info, dict) else {}

    def _speculative(self, page: Page | None, config: dict[str, Any]) -> Tristate:
        if config:
            return "yes" if config.get("speculative_config") else "no"
        if page is None:
            return "unknown"
        return "yes" if page.total("vllm:spec_decode_num_drafts_total") is not None else "no"

    def _restrict_sampling(self, version: str | None, speculative: bool) -> None:
        """vLLM 0.21 logs that min_p and logit_bias do nothing under speculative decoding."""
        old = version is not None and _version(version) <= (0, 21)
        if old and speculative and self.sampling_fields is not None:
            self.sampling_fields -= {"min_p", "logit_bias"}

    def _effective(
        self, models: list[dict[str, Any]], cache: dict[str, str], config: dict[str, Any]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {"kv_cache_dtype": cache.get("cache_dtype")}
        if models:
            found["weights"] = models[0].get("root")
        found["lora"] = [m["id"] for m in models if m.get("parent")] or None
        model, parallel = _dict(config, "model_config"), _dict(config, "parallel_config")
        found |= {"dtype": model.get("dtype"), "quantization": model.get("quantization")}
        for short, name in _LAYOUT.items():
            found[short] = parallel.get(name)
        speculation = _dict(config, "speculative_config")
        found["speculation"] = {
            k: speculation[k] for k in _SPECULATION if speculation.get(k) is not None
        } or None
        return {key: value for key, value in found.items() if value is not None}

    def unreported_cached(self) -> int | None:
        """0.21 leaves the details out of a stream without a hit (`multiturn-after-reset`): known to report, it is 0."""
        return 0

    def isolation(self, salt: str) -> dict[str, Any]:
        return {"cache_salt": salt}

    async def reset_cache(self) -> Tristate:
        return await self._reset_by("/reset_prefix_cache")

    async def tokenize(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> list[int] | None:
        return await self._tokenize_chat(messages, tools)

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        def total(name: str) -> float | None:
            return page.total(_PREFIX + name)

        def first(*names: str) -> float | None:
            return next((value for name in names if (value := total(name)) is not None), None)

        usage = page.mean("vllm:kv_cache_usage_perc")
        return TelemetrySample(
            at=at,
            prompt_tokens=total("prompt_tokens_total"),
            cached_tokens=first(
                "prompt_tokens_cached_total", "prefix_cache_hits_total", "gpu_prefix_cache_hits_total"
            ),
            prefix_queries=first("prefix_cache_queries_total", "gpu_prefix_cache_queries_total"),
            generated_tokens=total("generation_tokens_total"),
            running=total("num_requests_running"),
            waiting=total("num_requests_waiting"),
            preempted=total("num_preemptions_total"),
            kv_used=usage if usage is not None else page.mean("vllm:gpu_cache_usage_perc"),
            drafts=total("spec_decode_num_drafts_total"),
            drafted=total("spec_decode_num_draft_tokens_total"),
            accepted=total("spec_decode_num_accepted_tokens_total"),
            accepted_per_position=page.by_position("vllm:spec_decode_num_accepted_tokens_per_pos_total"),
            external_cached_tokens=total("external_prefix_cache_hits_total"),
            gauges=known(
                [
                    ("external_prefix_queries", total("external_prefix_cache_queries_total")),
                    ("started", page.total(STARTED)),
                ]
                + [
                    (f"finished_{r}", page.total("vllm:request_success_total", finished_reason=r))
                    for r in _REASONS
                ]
            ),
        )


_REASONS = ("stop", "length", "abort", "error", "repetition")
_LAYOUT = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
    "ep": "enable_expert_parallel",
}
_SPECULATION = ("method", "model", "num_speculative_tokens", "prompt_lookup_max", "prompt_lookup_min")


def _pool(cache: dict[str, str]) -> int | None:
    """0.32 says it in tokens, 0.21 in blocks."""
    tokens = _int(cache.get("kv_cache_size_tokens"))
    if tokens is not None:
        return tokens
    blocks, block = _int(cache.get("num_gpu_blocks")), _int(cache.get("block_size"))
    return blocks * block if blocks is not None and block is not None else None


def _int(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _tristate(text: str | None) -> Tristate:
    answers: dict[str | None, Tristate] = {"True": "yes", "False": "no"}
    return answers.get(text, "unknown")


def _used(page: Page | None, counter: str) -> Tristate:
    value = page.total(counter) if page else None
    return "unknown" if value is None else "yes" if value > 0 else "no"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
