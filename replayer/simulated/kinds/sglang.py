"""SGLang 0.5.23 (`sglang-0.5.23-cpu`) with the gauges of 0.5.12 on a GPU (`sglang-0.5.12-h200`)."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from replayer.simulated.counters import Counts
from replayer.simulated.kinds.base import JSON, TEXT, Answer, Kind, Rows, page
from replayer.wire.types import JsonObject

FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, "
    "the operation will not be performed.)\n"
)
"""`post-flush_cache.response.txt`."""


class Sglang(Kind):
    name = "sglang"
    owner = "sglang"
    unknown_model_is_error = False  # err-unknown-model.response.json: 200, echoing the name
    rejects_bad_history = True  # err-toolcall-args-invalid-in-history.response.json
    # flat: `err-*.response.json`
    error_bodies: ClassVar = {**Kind.error_bodies, "unauthorized": {"error": "Unauthorized"}}
    error_types: ClassVar = {
        "bad_history": "BadRequest",
        "bad_json": "Bad Request",
        "bad_tools": "Bad Request",
    }
    error_words: ClassVar = {
        "too_long": "The input ({size} tokens) is longer than the model's context length ({limit} tokens).",
        "bad_history": "Assistant tool call function.arguments must be valid JSON.",
    }

    def request_id(self, ticket: UUID) -> str:
        return ticket.hex

    def chunk(self, base: JsonObject, delta: JsonObject, finish: str | None) -> JsonObject:
        delta = {"reasoning_content": None} | delta
        matched = 2 if finish == "stop" else None
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return base | {"choices": [choice | {"matched_stop": matched}]}

    def call(self, index: int, call_id: str | None, name: str | None, arguments: object) -> JsonObject:
        """`tool-auto-forced-parallel2-stream.response.sse`."""
        function = {"name": name, "arguments": arguments}
        call = {"id": call_id, "index": index, "type": "function", "function": function}
        return {"role": None, "content": None, "tool_calls": [call]}

    def arguments(self, index: int, text: str) -> JsonObject:
        return self.call(index, None, None, text)

    def usage(self, counts: Counts, *, stream: bool = True) -> JsonObject:
        return super().usage(counts, stream=stream) | {"reasoning_tokens": counts.reasoning}

    def usage_chunk(self, base: JsonObject, counts: Counts) -> JsonObject:
        chunk = super().usage_chunk(base, counts)
        if not (self.spec.host_tokens or self.spec.remote_tokens):
            return chunk
        device = counts.cached - counts.host - counts.remote
        tiers = {"device": device, "host": counts.host, "storage": counts.remote, "storage_backend": "file"}
        return chunk | {"sglext": {"cached_tokens_details": tiers}}

    def message(self, content: str, reasoning: str, calls: list[JsonObject]) -> JsonObject:
        message = {"role": "assistant", "content": content, "reasoning_content": reasoning or None}
        numbered = [{"id": call["id"], "index": at} | call for at, call in enumerate(calls)]
        return message | ({"tool_calls": numbered} if calls else {})

    def endpoints(self) -> list[str]:
        reset = ["/flush_cache"] if self.spec.reset_endpoint else []
        return ["/v1/models", "/v1/chat/completions", "/tokenize", "/server_info", *reset]

    def get(self, path: str) -> Answer | None:
        if path in ("/server_info", "/get_server_info"):
            return 200, JSON, self._server_info()
        if path == "/model_info":
            return 200, JSON, {"model_path": self.spec.model, "served_model_name": self.spec.model}
        if path == "/flush_cache":
            return self.post(path, {})
        return super().get(path)

    def post(self, path: str, body: JsonObject) -> Answer | None:
        if path == "/flush_cache" and self.spec.reset_endpoint:
            self.state.pool.reset()
            return 200, TEXT, FLUSHED
        if path == "/tokenize":
            tokens = self.tokenized(body)
            return 200, JSON, {"tokens": tokens, "count": len(tokens)}
        return None

    def _server_info(self) -> JsonObject:
        """The part of `get-server_info.response.json` that an adapter reads."""
        spec = self.spec
        return {
            "model_path": spec.model,
            "served_model_name": spec.model,
            "context_length": spec.context_length,
            "kv_cache_dtype": "auto",
            "quantization": None,
            "attention_backend": "triton",
            "page_size": spec.block,
            **dict.fromkeys(("tp_size", "pp_size", "dp_size", "ep_size"), 1),
            "enable_cache_report": spec.report_cached,
            "enable_metrics": spec.report_metrics,
            "tool_call_parser": "hermes" if spec.tool_parser else None,
            "reasoning_parser": None,
            "disable_radix_cache": not self.spec.pool_tokens,
            "speculative_algorithm": "NGRAM" if spec.draft_tokens else None,
            "speculative_num_draft_tokens": spec.draft_tokens or None,
            "max_total_num_tokens": spec.pool_tokens,
            "max_req_input_len": spec.context_length - 6,
            "version": "0.5.23",
            "internal_states": [{"last_gen_throughput": self.state.last_throughput}],
        }

    def metrics(self) -> str:
        """Names and labels of `get-metrics-after.response.txt` of both versions."""
        state, spec = self.state, self.spec
        own = f'engine_type="unified",model_name="{spec.model}"'
        rank = f'{own},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        computed = state.prompt_tokens - state.cached_tokens
        modes = {
            "prefill_compute": computed,
            "decode": state.generated_tokens,
            "prefill_cache": state.cached_tokens,
        }
        rows: Rows = [
            ("sglang:prompt_tokens_total", "counter", own, state.prompt_tokens),
            ("sglang:generation_tokens_total", "counter", own, state.generated_tokens),
            ("sglang:num_requests_total", "counter", own, sum(state.finished.values())),
            *self._cached(own),
            ("sglang:evicted_tokens_total", "counter", 'cache_type="RadixCache"', state.pool.cache.evicted),
        ]
        if state.pool.preempted:  # on the page only from the first one on, as on 0.5.12
            rows.append(("sglang:num_retracted_requests_total", "counter", rank, state.pool.preempted))
        for mode, count in modes.items():
            rows.append(("sglang:realtime_tokens_total", "counter", f'mode="{mode}",{rank}', count))
        return page(
            rows + [(f"sglang:{name}", "gauge", rank, value) for name, value in self._gauges().items()]
        )

    def _cached(self, own: str) -> Rows:
        """By tier; the host's and the store's stand there only where there is a hierarchical cache."""
        state, spec = self.state, self.spec
        tiers = {"device": state.device_tokens}
        tiers |= {"host": state.host_tokens} if spec.host_tokens else {}
        tiers |= {"storage_file": state.remote_tokens} if spec.remote_tokens else {}
        name = "sglang:cached_tokens_total"
        return [(name, "counter", f'cache_source="{tier}",{own}', count) for tier, count in tiers.items()]

    def _gauges(self) -> dict[str, float]:
        state, spec = self.state, self.spec
        return {
            "max_total_num_tokens": spec.pool_tokens,
            "page_size": spec.block,
            "context_len": spec.context_length,
            "num_running_reqs": state.pool.running,
            "num_queue_reqs": state.pool.waiting,
            "num_retracted_reqs": 0,
            "gen_throughput": state.last_throughput,
            "cache_hit_rate": state.last_hit_rate,
            "token_usage": state.kv_used,
            "kv_used_tokens": state.running_tokens,
            "kv_available_tokens": max(0, spec.pool_tokens - state.pool.cache.tokens),
            "kv_evictable_tokens": max(0, state.pool.cache.tokens - state.running_tokens),
            "spec_accept_length": 1 + state.accepted / state.drafts if state.drafts else 0.0,
            "spec_accept_rate": state.accepted / state.drafted if state.drafted else 0.0,
        }
