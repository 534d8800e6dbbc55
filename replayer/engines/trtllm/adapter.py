"""The adapter of trtllm-serve.

`/metrics` is a JSON list of iteration statistics, filled only with `enable_iter_perf_stats` and drained by reading:
one reader per server, and counters are summed up here.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import httpx

from replayer.engines.base import EngineFacts, TelemetrySample
from replayer.engines.json_values import parsed, section, whole
from replayer.engines.openai.adapter import METRICS_SECONDS, OpenAIEngine
from replayer.engines.trtllm import TRTLLM
from replayer.wire.counts import count
from replayer.wire.types import JsonObject

_DRAFTED = {
    "drafts": "numRequestsWithDraftTokens",
    "drafted": "numDraftTokens",
    "accepted": "numAcceptedTokens",
}


class TrtLlmEngine(OpenAIEngine):
    entry = TRTLLM

    def __init__(self, base_url: str, http: httpx.AsyncClient) -> None:
        super().__init__(base_url, http)
        self._drafted: Counter[str] = Counter()
        """What the drained iterations add up to; empty where nothing speculates."""
        self._last: JsonObject | None = None

    async def facts(self) -> EngineFacts:
        facts, version = await super().facts(), await self._version()
        with suppress(httpx.HTTPError):  # without its metrics it still has facts
            await self._drain()
        cache = section(self._last, "kvCacheStats")
        pool = _tokens(cache, "maxNumBlocks")
        return replace(
            facts,
            version=version,
            kv_pool_tokens=count(pool),
            block_size=whole(cache, "tokensPerBlock"),
            features={
                "metrics": "yes" if self._last else "unknown",
                "cache_reset": "no",
                "tokenize": "no",
                "speculation": "yes" if self._drafted else "unknown",
            },
        )

    async def telemetry(self) -> TelemetrySample | None:
        """None until the server has reported an iteration."""
        await self._drain()
        if self._last is None:
            return None
        now, cache = self._last, section(self._last, "kvCacheStats")
        drafted: JsonObject = {word: float(total) for word, total in self._drafted.items()}
        reused, missed = _tokens(cache, "reusedBlocks"), _tokens(cache, "missedBlocks")
        used, most = whole(cache, "usedNumBlocks"), whole(cache, "maxNumBlocks")
        paused = whole(section(now, "inflightBatchingStats"), "numPausedRequests")
        return TelemetrySample(
            at=time.monotonic(),
            cached_tokens=reused,
            prefix_queries=reused + missed if reused is not None and missed is not None else None,
            running=whole(now, "numActiveRequests"),
            waiting=whole(now, "numQueuedRequests"),
            kv_used=used / most if used is not None and most else None,
            **drafted,
            gauges={"paused": float(paused)} if paused is not None else {},
        )

    async def _drain(self) -> None:
        reply = await self.http.get(f"{self.root}/metrics", timeout=METRICS_SECONDS)
        try:
            entries = parsed(reply) if reply.status_code == 200 else []
        except ValueError:
            entries = []
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict):
                self._last = entry
                if speculation := section(entry, "specDecodingStats"):
                    for word, key in _DRAFTED.items():
                        self._drafted[word] += whole(speculation, key) or 0


def _tokens(cache: JsonObject, name: str) -> float | None:
    """A count of blocks in tokens."""
    blocks, block = whole(cache, name), whole(cache, "tokensPerBlock")
    return float(blocks * block) if blocks is not None and block is not None else None
