"""The adapter of llama.cpp's server."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from replayer.engines.base import EngineFacts, TelemetrySample, Tristate
from replayer.engines.json_values import known, section, text, tristate, whole
from replayer.engines.llamacpp import LLAMACPP
from replayer.engines.openai.adapter import OpenAIEngine
from replayer.engines.prometheus import Page
from replayer.traces.schema import Usage
from replayer.wire.counts import count
from replayer.wire.types import JsonObject

_GAUGES = (
    "prompt_seconds_total",
    "tokens_predicted_seconds_total",
    "n_decode_total",
    "n_busy_slots_per_decode",
)


class LlamaCppEngine(OpenAIEngine):
    entry = LLAMACPP
    metrics_path = "/metrics"

    async def facts(self) -> EngineFacts:
        facts, props, slots = await asyncio.gather(super().facts(), self._props(), self._slots())
        total = whole(props, "total_slots")
        context = whole(section(props, "default_generation_settings"), "n_ctx") or facts.context_length
        caps = section(props, "chat_template_caps")
        return replace(
            facts,
            version=text(props, "build_info"),
            model=facts.model or text(props, "model_alias"),
            context_length=context,
            kv_pool_tokens=context * total if context is not None and total is not None else None,
            block_size=1,
            effective=self._effective(props, slots),
            features={
                "metrics": tristate(props.get("endpoint_metrics")),
                "cached_tokens": "yes",
                "tools": tristate(caps.get("supports_tools")),
                "parallel_tool_calls": tristate(caps.get("supports_parallel_tool_calls")),
                "speculation": tristate(slots[0].get("speculative")) if slots else "unknown",
                "tokenize": "yes",
                "cache_reset": "unknown",
            },
        )

    def _effective(self, props: JsonObject, slots: list[JsonObject]) -> JsonObject:
        meta = section(self.listed[0], "meta") if self.listed else {}
        params = section(props, "default_generation_settings", "params")
        speculation = params.get("speculative.types")
        return known(
            {
                "weights": props.get("model_path"),
                "quantization": props.get("model_ftype") or meta.get("ftype"),
                "slots": props.get("total_slots"),
                "chat_format": params.get("chat_format"),
                "speculation": {"method": speculation} if speculation not in (None, "none") else None,
                "speculative_slots": sum(bool(slot.get("speculative")) for slot in slots) or None,
            }
        )

    async def _props(self) -> JsonObject:
        return section(await self.get_json(f"{self.root}/props"))

    async def _slots(self) -> list[JsonObject]:
        slots = await self.get_json(f"{self.root}/slots")
        return [slot for slot in slots if isinstance(slot, dict)] if isinstance(slots, list) else []

    def usage(self, usage: JsonObject | None, extra: JsonObject) -> Usage | None:
        """`timings` say what usage leaves out, also where no usage was asked for."""
        found, timings = super().usage(usage, extra), section(extra, "timings")
        new, cached = count(timings.get("prompt_n")), count(timings.get("cache_n"))
        if found is not None:
            silent = found.cached_tokens is None and cached is not None
            return replace(found, cached_tokens=cached) if silent else found
        if not timings:
            return None
        return Usage(
            prompt_tokens=new + cached if new is not None and cached is not None else None,
            cached_tokens=cached,
            completion_tokens=count(timings.get("predicted_n")),
            raw=timings,
        )

    async def reset_cache(self) -> Tristate:
        """Erases every slot; needs `--slot-save-path`, else 501."""
        slots = await self._slots()
        answers = [
            await self._reset_by(f"/slots/{slot['id']}?action=erase") for slot in slots if "id" in slot
        ]
        if not answers:
            return "unknown"
        return "yes" if all(answer == "yes" for answer in answers) else "no"

    async def tokenize(self, messages: list[JsonObject], tools: list[JsonObject] | None) -> list[int] | None:
        asked = {"messages": messages} | ({"tools": tools} if tools else {})
        rendered = await self.post_json("/apply-template", asked)
        prompt = rendered.get("prompt") if isinstance(rendered, dict) else None
        if not isinstance(prompt, str):
            return None
        return await self._tokenize_by(
            "/tokenize", {"content": prompt, "add_special": False, "parse_special": True}
        )

    def sample(self, page: Page, at: float) -> TelemetrySample | None:
        """`prompt_tokens_total` leaves cached tokens out; the common word includes them."""

        page = page.under("llamacpp:")
        total = page.total
        new, cached = total("prompt_tokens_total"), total("prompt_tokens_cached_total")
        prompt = new + cached if new is not None and cached is not None else None
        return TelemetrySample(
            at=at,
            prompt_tokens=prompt,
            cached_tokens=cached,
            prefix_queries=prompt,
            generated_tokens=total("tokens_predicted_total"),
            running=total("requests_processing"),
            waiting=total("requests_deferred"),
            kv_used=total("kv_cache_usage_ratio"),
            drafts=total("spec_decode_num_drafts_total"),
            drafted=total("spec_decode_num_draft_tokens_total"),
            accepted=total("spec_decode_num_accepted_tokens_total"),
            accepted_per_position=page.by_position("spec_decode_num_accepted_tokens_per_pos_total"),
            gauges=known({"prompt_tokens_computed": new, **{name: total(name) for name in _GAUGES}}),
        )
