"""vLLM 0.32, as captured in `vllm-0.32-cpu/plain`, `…/speculation` and `…/per-request-metrics`."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from replayer.simulated.counters import Counts
from replayer.simulated.kinds.base import JSON, TEXT, Answer, Kind, Rows, page
from replayer.wire.types import JsonObject

VERSION = "0.32.0"
FINGERPRINT = f"vllm-{VERSION}-simulated"


class Vllm(Kind):
    name = "vllm"
    owner = "vllm"
    reasoning_field = "reasoning"  # chat-text-nonstream.response.json
    # a real vLLM 0.21's words, on an H200
    refuses_stream_options = "Value error, Stream options can only be defined when `stream=True`."
    # From vLLM's source: a server without a parser refuses automatic tool choice.
    needs_parser = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    error_bodies: ClassVar = {**Kind.error_bodies, "unauthorized": {"error": "Unauthorized"}}
    # `err-*.response.json`: validation errors have a type with a space; the others are BadRequestError
    error_types: ClassVar = {
        "unknown_model": "NotFoundError",
        "bad_json": "Bad Request",
        "bad_tools": "Bad Request",
    }
    error_words: ClassVar = {
        "unknown_model": "The model `{model}` does not exist. Valid aliases: {served}.",
        "too_long": "This model's maximum context length is {limit} tokens. However, your prompt contains at least "
        "{size} input tokens, which exceeds this limit even without any output tokens. Please reduce "
        "the length of the input prompt. (parameter=input_tokens, value={size})",
    }

    def call_id(self, ticket: UUID, number: int) -> str:
        return "chatcmpl-tool-" + super().call_id(ticket, number)[5:21]

    def chunk(self, base: JsonObject, delta: JsonObject, finish: str | None) -> JsonObject:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        if "role" in delta:
            return base | {"choices": [choice], "prompt_token_ids": None, "prompt_text": None}
        if finish is not None:
            choice["stop_reason"] = None
        return base | {"choices": [choice | {"token_ids": None}]}

    def call(self, index: int, call_id: str | None, name: str | None, arguments: object) -> JsonObject:
        """`tool-auto-forced-parallel2-stream.response.sse`: the first delta has no arguments key."""
        function = {"name": name} if arguments == "" else {"name": name, "arguments": arguments}
        call = {"id": call_id, "type": "function", "index": index, "function": function}
        return {"content": None, "tool_calls": [call]}

    def arguments(self, index: int, text: str) -> JsonObject:
        return {"content": None} | super().arguments(index, text)

    def details(self, counts: Counts, stream: bool) -> JsonObject | str | None:
        """Without `--enable-prompt-tokens-details`: absent when streamed, null in a whole answer (0.21)."""
        if not self.spec.report_cached:
            return "absent" if stream else None
        block = self.spec.block
        created = max(0, counts.prompt // block * block - counts.cached)
        return {"cached_tokens": counts.cached, "created_cache_tokens": created}

    def usage_chunk(self, base: JsonObject, counts: Counts) -> JsonObject:
        chunk = super().usage_chunk(base, counts) | {"system_fingerprint": FINGERPRINT}
        return chunk | {"metrics": self._request_metrics(counts)} if counts.steps else chunk

    def _request_metrics(self, counts: Counts) -> JsonObject:
        """`per-request-metrics/multiturn-2.response.sse`; generation time starts with the first token."""
        speculation = {
            "mean_acceptance_length": 1 + counts.accepted / counts.steps,
            "draft_acceptance_rate": counts.accepted / counts.drafted if counts.drafted else 0.0,
            "num_spec_steps": counts.steps,
            "num_accepted_draft_tokens": counts.accepted,
            "num_draft_tokens": counts.drafted,
            "num_spec_tokens": self.spec.draft_tokens,
        }
        return {
            "time_to_first_token_ms": counts.prefill_s * 1000,
            "generation_time_ms": counts.decode_s * 1000 * (1 - 1 / counts.steps),
            "queue_time_ms": 0.0,
            "speculative_decoding": speculation,
        }

    def message(self, content: str, reasoning: str, calls: list[JsonObject]) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": content or (None if calls else "")}
        message |= {"refusal": None, "annotations": None, "audio": None, "function_call": None}
        return message | ({"tool_calls": calls} if calls else {}) | {"reasoning": reasoning or None}

    def completion(self, base: JsonObject, message: JsonObject, finish: str, counts: Counts) -> JsonObject:
        body = super().completion(base, message, finish, counts)
        body["choices"][0] |= {"logprobs": None, "stop_reason": None, "token_ids": None}
        return body | {"service_tier": None, "system_fingerprint": FINGERPRINT, "prompt_token_ids": None}

    def error(self, kind: str, message: str, **values: object) -> Answer:
        status, content_type, body = super().error(kind, message, **values)
        if "object" in body:
            body = {"error": {key: value for key, value in body.items() if key != "object"}}
        return status, content_type, body

    def endpoints(self) -> list[str]:
        dev = ["/reset_prefix_cache", "/server_info"] if self.spec.reset_endpoint else []
        return ["/v1/models", "/v1/chat/completions", "/tokenize", "/version", *dev]

    def get(self, path: str) -> Answer | None:
        if path == "/version":
            return 200, JSON, {"version": VERSION}
        if path == "/ping":
            return 200, TEXT, ""
        if path == "/server_info" and self.spec.reset_endpoint:
            return 200, JSON, {"vllm_config": self._config()}
        return super().get(path)

    def _config(self) -> JsonObject:
        """Dev mode only; the part of `get-server_info.response.json` that an adapter reads."""
        spec = self.spec
        draft = {"method": "ngram", "model": "ngram", "num_speculative_tokens": spec.draft_tokens}
        model = {"model": spec.model, "max_model_len": spec.context_length, "quantization": None}
        sizes = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        return {
            "model_config": model,
            "cache_config": {
                "block_size": spec.block,
                "cache_dtype": "auto",
                "enable_prefix_caching": spec.pool_tokens > 0,
            },
            "parallel_config": dict.fromkeys(sizes, 1),
            "speculative_config": draft if spec.draft_tokens else None,
        }

    def post(self, path: str, body: JsonObject) -> Answer | None:
        if path == "/reset_prefix_cache" and self.spec.reset_endpoint:
            return 200, JSON, {"success": self.state.pool.reset()}
        if path == "/tokenize":
            tokens = self.tokenized(body)
            size = {"count": len(tokens), "max_model_len": self.spec.context_length}
            return 200, JSON, size | {"tokens": tokens}
        return None

    def metrics(self) -> str:
        """Names, labels and units of `speculation/metrics-final.txt`; histograms are left out."""
        state, spec = self.state, self.spec
        own, tiers = f'engine="0",model_name="{spec.model}"', spec.host_tokens + spec.remote_tokens
        counters = {
            "prefix_cache_queries": state.prompt_tokens,
            "prefix_cache_hits": state.device_tokens,
            "external_prefix_cache_queries": state.prompt_tokens - state.device_tokens if tiers else 0,
            "external_prefix_cache_hits": state.host_tokens + state.remote_tokens,
            "num_preemptions": state.pool.preempted,
            "prompt_tokens": state.prompt_tokens,
            "prompt_tokens_cached": state.cached_tokens,
            "generation_tokens": state.generated_tokens,
        }
        rows: Rows = [
            ("vllm:num_requests_running", "gauge", own, state.pool.running),
            ("vllm:num_requests_waiting", "gauge", own, state.pool.waiting),
            ("vllm:num_requests_waiting_by_reason", "gauge", f'{own},reason="capacity"', state.pool.waiting),
            ("vllm:kv_cache_usage_perc", "gauge", own, state.kv_used),
        ]
        rows += [(f"vllm:{name}_total", "counter", own, value) for name, value in counters.items()]
        for reason in ("stop", "length", "abort", "error"):
            labels = f'engine="0",finished_reason="{reason}",model_name="{spec.model}"'
            rows.append(("vllm:request_success_total", "counter", labels, state.finished[reason]))
        if spec.draft_tokens:
            rows += self._speculation(own)
        if tiers:
            rows += self._tiers(own)
        return page([*rows, self._cache_config()])

    def _tiers(self, own: str) -> Rows:
        """A connector's tokens count as transferred, and LMCache puts counters of its own on the page."""
        state = self.state
        external = state.host_tokens + state.remote_tokens
        sources = {
            "local_compute": state.prompt_tokens - state.cached_tokens,
            "local_cache_hit": state.device_tokens,
            "external_kv_transfer": external,
        }
        tiers = {"device": state.device_tokens, "host": state.host_tokens, "p2p": state.remote_tokens}
        rows: Rows = [
            (f"vllm:prompt_tokens_{name}_total", "counter", f'{own},source="{source}"', count)
            for name, counts in (("by_source", sources), ("cached_by_source", tiers))
            for source, count in counts.items()
        ]
        asked = state.prompt_tokens - state.device_tokens
        return [
            *rows,
            ("lmcache:num_requested_tokens_total", "counter", own, asked),
            ("lmcache:num_hit_tokens_total", "counter", own, external),
        ]

    def _cache_config(self) -> tuple[str, str, str, float]:
        block = self.spec.block
        blocks = self.spec.pool_tokens // block
        labels = (
            f'block_size="{block}",cache_dtype="auto",enable_prefix_caching="{self.spec.pool_tokens > 0}",engine="0",'
            f'kv_cache_size_tokens="{blocks * block}",num_gpu_blocks="{blocks}"'
        )
        return "vllm:cache_config_info", "gauge", labels, 1.0

    def _speculation(self, own: str) -> Rows:
        state = self.state
        rows: Rows = [
            ("vllm:spec_decode_num_drafts_total", "counter", own, state.drafts),
            ("vllm:spec_decode_num_draft_tokens_total", "counter", own, state.drafted),
            ("vllm:spec_decode_num_accepted_tokens_total", "counter", own, state.accepted),
        ]
        for position, count in enumerate(state.accepted_per_position):
            labels = f'{own},position="{position}"'
            rows.append(("vllm:spec_decode_num_accepted_tokens_per_pos_total", "counter", labels, count))
        return rows
