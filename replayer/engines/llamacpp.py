"""llama.cpp's server, and ik_llama.cpp, which looks alike and says less."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from replayer.engines.base import EngineFacts, EngineKind, TelemetrySample, Tristate
from replayer.engines.faults import Rule
from replayer.engines.openai import OpenAIEngine, _dict, _length
from replayer.engines.prometheus import Page, known
from replayer.traces.schema import Usage
from replayer.wire.counts import count

_PREFIX = "llamacpp:"


class LlamaCppEngine(OpenAIEngine):
    kind: EngineKind = "llamacpp"
    context_flag = "-c / --ctx-size"
    metrics_path = "/metrics"
    rules: ClassVar[Sequence[Rule]] = (
        (re.compile(r"^Failed to parse tool call arguments", re.I), "bad_request"),
        (re.compile(r"^Failed to parse tools|^tools param requires|tool_choice|grammar constraints with tools|^Unable to generate parser", re.I),
         "bad_tools"),
    )  # fmt: skip

    async def facts(self) -> EngineFacts:
        models, props = await self.models(), await self._props()
        slots = await self._slots()
        total = props.get("total_slots")
        per_slot = _dict(props, "default_generation_settings").get("n_ctx")
        context = per_slot or (_length(models[0]) if models else None)
        return EngineFacts(
            kind=self.kind,
            base_url=self.base_url,
            version=props.get("build_info"),
            model=models[0]["id"] if models else props.get("model_alias"),
            models=tuple(entry["id"] for entry in models),
            context_length=context,
            kv_pool_tokens=context * total if isinstance(context, int) and isinstance(total, int) else None,
            block_size=1,
            promises_done=True,
            promises_usage=True,
            effective=_effective(models, props, slots),
            features={
                "metrics": _yes(props.get("endpoint_metrics")),
                "cached_tokens": "yes",
                "tools": _yes(_dict(props, "chat_template_caps").get("supports_tools")),
                "parallel_tool_calls": _yes(
                    _dict(props, "chat_template_caps").get("supports_parallel_tool_calls")
                ),
                "speculation": _yes(slots[0].get("speculative")) if slots else "unknown",
                "tokenize": "yes",
                "cache_reset": "unknown",
            },
        )

    async def _props(self) -> dict[str, Any]:
        props = await self.get_json(f"{self.root}/props")
        return props if isinstance(props, dict) else {}

    async def _slots(self) -> list[dict[str, Any]]:
        slots = await self.get_json(f"{self.root}/slots")
        return [slot for slot in slots if isinstance(slot, dict)] if isinstance(slots, list) else []

    def usage(self, usage: dict[str, Any] | None, extra: dict[str, Any]) -> Usage | None:
        """`timings` say what usage leaves out, also where no usage was asked for."""
        timings = _dict(extra, "timings")
        found = super().usage(usage, extra)
        if not timings:
            return found
        new, cached = count(timings.get("prompt_n")), count(timings.get("cache_n"))
        prompt = new + cached if new is not None and cached is not None else None
        if found is None:
            completion = count(timings.get("predicted_n"))
            return Usage(
                prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion, raw=timings
            )
        if found.cached_tokens is None and cached is not None:
            return Usage(
                prompt_tokens=found.prompt_tokens,
                cached_tokens=cached,
                completion_tokens=found.completion_tokens,
                reasoning_tokens=found.reasoning_tokens,
                raw=found.raw,
            )
        return found

    async def reset_cache(self) -> Tristate:
        """Erases every slot; needs `--slot-save-path`, else 501."""
        slots = await self._slots()
        answers = [
            await self._reset_by(f"/slots/{slot['id']}?action=erase") for slot in slots if "id" in slot
        ]
        if not answers:
            return "unknown"
        return "yes" if all(answer == "yes" for answer in answers) else "no"

    async def tokenize(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None
    ) -> list[int] | None:
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

        def total(name: str) -> float | None:
            return page.total(_PREFIX + name)

        new, cached = total("prompt_tokens_total"), total("prompt_tokens_cached_total")
        prompt = new + cached if new is not None and cached is not None else None
        gauges = (
            "prompt_seconds_total",
            "tokens_predicted_seconds_total",
            "n_decode_total",
            "n_busy_slots_per_decode",
        )
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
            accepted_per_position=page.by_position("llamacpp:spec_decode_num_accepted_tokens_per_pos_total"),
            gauges=known([("prompt_tokens_computed", new)] + [(name, total(name)) for name in gauges]),
        )


class IkLlamaEngine(LlamaCppEngine):
    """Its `prompt_tokens_total` leaves cached tokens out and nothing counts those: prompt tokens stay unknown.

    A scrape resets the buckets behind its per-second gauges, which are therefore not read.
    """

    kind: EngineKind = "ik_llama"

    async def _slots(self) -> list[dict[str, Any]]:
        """Not asked: /slots repeats every prompt in full."""
        return []

    async def reset_cache(self) -> Tristate:
        return "unknown"

    async def telemetry(self) -> TelemetrySample | None:
        page = await self.page()
        return None if page is None else self.sample(page, time.monotonic())


def _effective(
    models: list[dict[str, Any]], props: dict[str, Any], slots: list[dict[str, Any]]
) -> dict[str, Any]:
    meta = _dict(models[0], "meta") if models else {}
    params = _dict(_dict(props, "default_generation_settings"), "params")
    speculation = params.get("speculative.types")
    found = {
        "weights": props.get("model_path"),
        "quantization": props.get("model_ftype") or meta.get("ftype"),
        "slots": props.get("total_slots"),
        "chat_format": params.get("chat_format"),
        "speculation": {"method": speculation} if speculation not in (None, "none") else None,
        "speculative_slots": sum(bool(slot.get("speculative")) for slot in slots) or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _yes(value: Any) -> Tristate:
    return "unknown" if value is None else "yes" if value else "no"
