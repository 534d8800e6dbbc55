"""TensorRT-LLM's trtllm-serve, by its documentation (it was not run here).

`/metrics` is a JSON list of iteration statistics, filled only with `enable_iter_perf_stats` and drained by reading:
one reader per server, and counters are summed up here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx

from replayer.engines.base import EngineFacts, EngineKind, TelemetrySample
from replayer.engines.faults import Rule
from replayer.engines.openai import METRICS_SECONDS, OpenAIEngine, _dict, _length


@dataclass(slots=True)
class _Totals:
    """What the drained iterations add up to."""

    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    speculative: bool = False


class TrtLlmEngine(OpenAIEngine):
    kind: EngineKind = "trtllm"
    context_flag = "--max_seq_len"
    rules: ClassVar[Sequence[Rule]] = (
        (re.compile(r"should not exceed max_(?:num_tokens|seq_len|input_len)", re.I), "context_too_long"),
    )

    def __init__(self, base_url: str, http: httpx.AsyncClient) -> None:
        super().__init__(base_url, http)
        self._totals = _Totals()
        self._last: dict[str, Any] | None = None

    async def facts(self) -> EngineFacts:
        models = await self.models()
        version = _dict({"it": await self.get_json(f"{self.root}/version")}, "it").get("version")
        await self._drain()
        cache = _dict(self._last or {}, "kvCacheStats")
        block = cache.get("tokensPerBlock")
        blocks = cache.get("maxNumBlocks")
        return EngineFacts(
            kind=self.kind,
            base_url=self.base_url,
            version=version,
            model=models[0]["id"] if models else None,
            models=tuple(entry["id"] for entry in models),
            context_length=_length(models[0]) if models else None,
            kv_pool_tokens=blocks * block if isinstance(blocks, int) and isinstance(block, int) else None,
            block_size=block if isinstance(block, int) else None,
            promises_done=True,
            promises_usage=True,
            features={
                "metrics": "yes" if self._last else "unknown",
                "cache_reset": "no",
                "tokenize": "no",
                "speculation": "yes" if self._totals.speculative else "unknown",
            },
        )

    async def telemetry(self) -> TelemetrySample | None:
        """None until the server has told of an iteration."""
        await self._drain()
        if self._last is None:
            return None
        now, cache, totals = self._last, _dict(self._last, "kvCacheStats"), self._totals
        block = cache.get("tokensPerBlock")
        reused, missed = _tokens(cache.get("reusedBlocks"), block), _tokens(cache.get("missedBlocks"), block)
        used, most = cache.get("usedNumBlocks"), cache.get("maxNumBlocks")
        paused = _dict(now, "inflightBatchingStats").get("numPausedRequests")
        return TelemetrySample(
            at=time.monotonic(),
            cached_tokens=reused,
            prefix_queries=reused + missed if reused is not None and missed is not None else None,
            running=now.get("numActiveRequests"),
            waiting=now.get("numQueuedRequests"),
            kv_used=used / most if isinstance(used, int) and isinstance(most, int) and most else None,
            drafts=totals.drafts if totals.speculative else None,
            drafted=totals.drafted if totals.speculative else None,
            accepted=totals.accepted if totals.speculative else None,
            gauges={"paused": float(paused)} if isinstance(paused, int) else {},
        )

    async def _drain(self) -> None:
        reply = await self.http.get(f"{self.root}/metrics", timeout=METRICS_SECONDS)
        try:
            entries = reply.json() if reply.status_code == 200 else []
        except ValueError:
            entries = []
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                self._last = entry
                self._add(_dict(entry, "specDecodingStats"))

    def _add(self, speculation: dict[str, Any]) -> None:
        if speculation:
            self._totals.speculative = True
            self._totals.drafts += speculation.get("numRequestsWithDraftTokens") or 0
            self._totals.drafted += speculation.get("numDraftTokens") or 0
            self._totals.accepted += speculation.get("numAcceptedTokens") or 0


def _tokens(blocks: Any, block: Any) -> float | None:
    return float(blocks * block) if isinstance(blocks, int) and isinstance(block, int) else None
