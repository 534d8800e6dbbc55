"""TensorRT-LLM's trtllm-serve, from its documentation: there is no capture of it.

`/metrics` answers a JSON list of iteration statistics that reading drains; `/prometheus/metrics` is the newer page.
"""

from __future__ import annotations

from typing import ClassVar

from replayer.simulated.kinds.base import JSON, PROMETHEUS, Answer, Kind, page
from replayer.wire.types import JsonObject


class TrtLlm(Kind):
    name = "trtllm"
    owner = "tensorrt_llm"

    error_words: ClassVar = {
        "too_long": "The sum of prompt length ({size}) and query length should not exceed max_num_tokens ({limit})"
    }
    error_types: ClassVar = {
        "unauthorized": "AuthenticationError",
        "unknown_model": "NotFoundError",
        "unavailable": "BadRequestError",
    }

    def endpoints(self) -> list[str]:
        return ["/v1/models", "/v1/chat/completions", "/version", "/metrics"]

    def get(self, path: str) -> Answer | None:
        if path == "/version":
            return 200, JSON, {"version": "1.2.0"}
        if path == "/metrics":
            return 200, JSON, self._drain()
        if path == "/prometheus/metrics" and self.spec.report_metrics:
            return 200, PROMETHEUS, self.metrics()
        return super().get(path)

    def model_entry(self, name: str) -> JsonObject:
        return {
            "id": name,
            "object": "model",
            "created": int(self.state.started),
            "owned_by": self.owner,
        }

    def _drain(self) -> list[JsonObject]:
        """The iterations since the last reading: here one, where anything has run since."""
        state = self.state
        if not self.spec.report_metrics or (
            state.drained["iter"] == state.decodes and not state.pool.running
        ):
            return []
        counted = {
            "iter": state.decodes,
            "numDraftTokens": state.drafted,
            "numAcceptedTokens": state.accepted,
            "numRequestsWithDraftTokens": state.drafts,
        }
        new = {name: value - state.drained[name] for name, value in counted.items()}
        state.drained.update(counted)
        return [self._iteration(new)]

    def _iteration(self, new: dict[str, int]) -> JsonObject:
        """Speculation counts the iteration's own tokens, the KV cache all since the start."""
        state = self.state
        drafts, accepted = new["numRequestsWithDraftTokens"], new["numAcceptedTokens"]
        speculation = new | {"acceptanceLength": 1 + accepted / drafts if drafts else 0.0}
        del speculation["iter"]
        return {
            "iter": state.decodes,
            "iterLatencyMS": 1.0,
            "numActiveRequests": state.pool.running,
            "numQueuedRequests": state.pool.waiting,
            "numCompletedRequests": sum(state.finished.values()),
            "inflightBatchingStats": {"numGenRequests": state.pool.running, "numPausedRequests": 0},
            "kvCacheStats": self._kv_cache(),
            "specDecodingStats": speculation if self.spec.draft_tokens else None,
        }

    def _kv_cache(self) -> JsonObject:
        """Blocks reused and missed are cumulative."""
        state, block = self.state, self.spec.block
        blocks = max(1, self.spec.pool_tokens // block)
        reused = state.cached_tokens // block
        missed = (state.prompt_tokens - state.cached_tokens) // block
        used = min(blocks, -(-state.running_tokens // block))
        return {
            "maxNumBlocks": blocks,
            "freeNumBlocks": blocks - used,
            "usedNumBlocks": used,
            "tokensPerBlock": block,
            "reusedBlocks": reused,
            "missedBlocks": missed,
            "cacheHitRate": reused / (reused + missed) if reused + missed else 0.0,
        }

    def metrics(self) -> str:
        state = self.state
        labels = f'engine_type="trtllm",model_name="{self.spec.model}"'
        rate = state.cached_tokens / state.prompt_tokens if state.prompt_tokens else 0.0
        done = f'{labels},finished_reason="stop"'
        return page(
            [
                ("trtllm_request_success_total", "counter", done, sum(state.finished.values())),
                ("trtllm_kv_cache_hit_rate", "gauge", labels, rate),
                ("trtllm_kv_cache_utilization", "gauge", labels, state.kv_used),
            ]
        )
