"""llama.cpp b11434 (`llama.cpp/own-template`, `…/tools`, `…/speculation-draft`) and ik_llama.cpp (`ik_llama.cpp`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from uuid import UUID

from replayer.simulated.counters import Counts
from replayer.simulated.kinds.base import JSON, STATUS, Answer, Kind, Rows, page
from replayer.simulated.token_bytes import WIDTH, encode, ids, render, segments
from replayer.wire.types import JsonObject

TYPES = {
    "unauthorized": "authentication_error",
    "too_long": "exceed_context_size_error",
    "bad_history": "server_error",
    "bad_tools": "server_error",
    "server_error": "server_error",
    "unavailable": "unavailable_error",
}


class LlamaCpp(Kind):
    name = "llamacpp"
    server = "llama.cpp"
    owner = "llamacpp"
    unknown_model_is_error = False  # 50_err_unknown_model.response.sse: 200
    ignores_tools = True  # own-template/20_stream_tool_required.response.sse
    rejects_bad_history = True  # tools/5g_err_bad_tool_args_history.response.body

    def request_id(self, ticket: UUID) -> str:
        return f"chatcmpl-{ticket.hex}"

    def call_id(self, ticket: UUID, number: int) -> str:
        return super().call_id(ticket, number)[5:]

    def base(self, request_id: str, model: str) -> JsonObject:
        return {
            "created": int(time.time()),
            "id": request_id,
            "model": model,
            "system_fingerprint": "b11434-simulated",
            "object": "chat.completion.chunk",
        }

    def role(self) -> JsonObject:
        return {"role": "assistant", "content": None}

    def chunk(self, base: JsonObject, delta: JsonObject, finish: str | None) -> JsonObject:
        return {"choices": [{"finish_reason": finish, "index": 0, "delta": delta}]} | base

    def last(self, base: JsonObject, finish: str, counts: Counts, wants_usage: bool) -> JsonObject:
        """Without usage asked for, the timings stand in the last choice (`12_stream_no_usage_opt.response.sse`)."""
        chunk = self.chunk(base, {}, finish)
        return chunk if wants_usage else chunk | {"timings": self.timings(counts)}

    def usage(self, counts: Counts, *, stream: bool = True) -> JsonObject:
        return {
            "completion_tokens": counts.completion,
            "prompt_tokens": counts.prompt,
            "total_tokens": counts.prompt + counts.completion,
            "prompt_tokens_details": {"cached_tokens": counts.cached},
        }

    def usage_chunk(self, base: JsonObject, counts: Counts) -> JsonObject:
        return super().usage_chunk(base, counts) | {"timings": self.timings(counts)}

    def timings(self, counts: Counts) -> JsonObject:
        """`prompt_n` excludes cached tokens; draft figures only when something was drafted."""
        new = counts.prompt - counts.cached
        prompt_ms, predicted_ms = max(counts.prefill_s * 1e3, 1e-3), max(counts.decode_s * 1e3, 1e-3)
        timings = {
            "cache_n": counts.cached,
            "prompt_n": new,
            "prompt_ms": prompt_ms,
            "prompt_per_token_ms": prompt_ms / max(1, new),
            "prompt_per_second": new / prompt_ms * 1e3,
            "predicted_n": counts.completion,
            "predicted_ms": predicted_ms,
            "predicted_per_token_ms": predicted_ms / max(1, counts.completion),
            "predicted_per_second": counts.completion / predicted_ms * 1e3,
        }
        draft = {"draft_n": counts.drafted, "draft_n_accepted": counts.accepted} if counts.drafted else {}
        return timings | draft

    def message(self, content: str, reasoning: str, calls: list[JsonObject]) -> JsonObject:
        bare = [{"type": "function", "function": call["function"], "id": call["id"]} for call in calls]
        return super().message(content, reasoning, bare)

    def completion(self, base: JsonObject, message: JsonObject, finish: str, counts: Counts) -> JsonObject:
        return super().completion(base, message, finish, counts) | {"timings": self.timings(counts)}

    def error(self, kind: str, message: str, **values: object) -> Answer:
        if kind == "not_found":
            return 404, JSON, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}
        extra: JsonObject = {}
        if kind == "too_long":
            size, limit = values["size"], values["limit"]
            message = f"request ({size} tokens) exceeds the available context size ({limit} tokens), try increasing it"
            extra = {"n_prompt_tokens": size, "n_ctx": limit}
        if kind == "bad_history":
            message = f"Failed to parse tool call arguments as JSON: {message}"
        status = 500 if kind in ("bad_history", "bad_tools") else STATUS[kind]
        error = {"code": status, "message": message, "type": TYPES.get(kind, "invalid_request_error")}
        return status, JSON, {"error": error | extra}

    def get(self, path: str) -> Answer | None:
        if path in ("/health", "/v1/health"):
            return 200, JSON, {"status": "ok"}
        if path == "/props":
            return 200, JSON, self._props()
        if path == "/slots":
            return 200, JSON, self._slots()
        if path == "/metrics" and not self.spec.report_metrics:
            return self._unsupported("metrics endpoint. Start it with `--metrics`")
        return super().get(path)

    _rendered: Mapping[str, bytes] = {}
    """The last rendered prompt with its tokens: a text alone does not say where its segments end."""

    def post(self, path: str, body: JsonObject) -> Answer | None:
        messages, tools = body.get("messages") or [], body.get("tools")
        if path == "/tokenize":
            text = str(body.get("content", ""))
            return 200, JSON, {"tokens": ids(self._rendered.get(text) or encode(text))}
        if path == "/apply-template":
            text = "".join(segments(messages, tools))
            self._rendered = {text: render(messages, tools)}
            return 200, JSON, {"prompt": text}
        if path == "/v1/chat/completions/input_tokens":
            count = len(render(messages, tools)) // WIDTH
            return 200, JSON, {"input_tokens": count, "object": "response.input_tokens"}
        if path.startswith("/slots/") and "action=erase" in path:
            if not self.spec.reset_endpoint:
                return self._unsupported("slots action. Start it with `--slot-save-path`")
            erased = self.state.pool.cache.tokens
            self.state.pool.reset()
            return 200, JSON, {"id_slot": 0, "n_erased": erased}
        return None

    def _unsupported(self, what: str) -> Answer:
        """`70_slot_erase.response.body`."""
        message = f"This server does not support {what}"
        return 501, JSON, {"error": {"code": 501, "message": message, "type": "not_supported_error"}}

    def model_entry(self, name: str) -> JsonObject:
        meta = {"n_ctx": self.spec.context_length, "n_ctx_train": self.spec.context_length}
        return {"id": name, "aliases": [name], "object": "model", "owned_by": self.owner, "meta": meta}

    def _props(self) -> JsonObject:
        """`00_props.response.body`; `chat_template_caps` says whether tools are rendered at all."""
        tools = self.spec.tool_parser
        return {
            "default_generation_settings": {"n_ctx": self.spec.context_length, "params": {}},
            "total_slots": self.spec.slots or 1,
            "model_alias": self.spec.model,
            "model_path": f"{self.spec.model}.gguf",
            "endpoint_slots": True,
            "endpoint_props": True,
            "endpoint_metrics": self.spec.report_metrics,
            "chat_template": "",
            "chat_template_caps": {"supports_tools": tools, "supports_tool_calls": tools},
            "build_info": "b11434-simulated",
        }

    def _slots(self) -> list[JsonObject]:
        """`40_slots_busy.response.body`."""
        fixed = {"n_ctx": self.spec.context_length, "speculative": self.spec.draft_tokens > 0}
        numbers = range(self.spec.slots or 1)
        return [{"id": at, **fixed, "is_processing": at < self.state.pool.running} for at in numbers]

    def metrics(self) -> str:
        """Names and units of `99_metrics_after.response.body`; prompt tokens exclude cached ones."""
        state = self.state
        counters = {
            "prompt_tokens_total": state.prompt_tokens - state.cached_tokens,
            "prompt_tokens_cached_total": state.cached_tokens,
            "prompt_seconds_total": round(state.prompt_seconds, 6),
            "tokens_predicted_total": state.generated_tokens,
            "tokens_predicted_seconds_total": round(state.decode_seconds, 6),
            "n_decode_total": state.decodes,
            "n_tokens_max": state.longest,
            "spec_decode_num_draft_tokens_total": state.drafted,
            "spec_decode_num_accepted_tokens_total": state.accepted,
            "spec_decode_num_drafts_total": state.drafts,
        }
        gauges = {"requests_processing": state.pool.running, "requests_deferred": state.pool.waiting}
        rows = _rows(counters, gauges)
        for position, count in enumerate(state.accepted_per_position):
            name = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
            rows.append((name, "counter", f'position="{position}"', count))
        return page(rows)


class IkLlama(LlamaCpp):
    name = "ik_llama"
    server = "ik_llama.cpp"

    def base(self, request_id: str, model: str) -> JsonObject:
        base = super().base(request_id, model)
        del base["system_fingerprint"]
        return base

    def finish_reason(self, reason: str) -> str:
        """`stop` even at max_tokens (`engines.md`)."""
        return "stop" if reason == "length" else reason

    def timings(self, counts: Counts) -> JsonObject:
        """`11_nonstream_again.response.body`: no `cache_n`, but `n_ctx` and `n_past`."""
        timings = super().timings(counts)
        del timings["cache_n"]
        past = counts.prompt + counts.completion - 1
        return timings | {"n_ctx": self.spec.context_length, "n_past": past}

    def error(self, kind: str, message: str, **values: object) -> Answer:
        status, content_type, body = super().error(kind, message, **values)
        if kind == "bad_json":  # 52_err_invalid_json.response.body
            status = 500
            body["error"] |= {"code": 500, "type": "server_error"}
        return status, content_type, body

    def get(self, path: str) -> Answer | None:
        if path == "/health":  # health.txt
            busy = self.state.pool.running
            slots = {"slots_idle": max(0, (self.spec.slots or 1) - busy), "slots_processing": busy}
            return 200, JSON, {"status": "ok"} | slots
        if path == "/version":  # version.txt
            return 200, JSON, {"version": 4, "features": {"sql": False, "zstd_compression": False}}
        return super().get(path)

    def model_entry(self, name: str) -> JsonObject:
        length = self.spec.context_length
        meta = {"n_ctx_train": length}
        return {"id": name, "object": "model", "owned_by": self.owner, "meta": meta, "max_model_len": length}

    def _slots(self) -> list[JsonObject]:
        """`slots.txt`: `state`, not `is_processing`."""
        fixed = {"id_task": -1, "n_ctx": self.spec.context_length, "state": 0, "prompt": None}
        return [{"id": at, **fixed} for at in range(self.spec.slots or 1)]

    def metrics(self) -> str:
        """`metrics.txt`: no cache and no speculation counters."""
        state = self.state
        counters = {
            "prompt_tokens_total": state.prompt_tokens - state.cached_tokens,
            "prompt_seconds_total": round(state.prompt_seconds, 6),
            "tokens_predicted_total": state.generated_tokens,
            "tokens_predicted_seconds_total": round(state.decode_seconds, 6),
        }
        gauges = {
            "prompt_tokens_seconds": 0.0,
            "predicted_tokens_seconds": state.last_throughput,
            "kv_cache_usage_ratio": state.kv_used,
            "kv_cache_tokens": state.running_tokens,
            "requests_processing": state.pool.running,
            "requests_deferred": state.pool.waiting,
        }
        return page(_rows(counters, gauges))


def _rows(counters: Mapping[str, float], gauges: Mapping[str, float]) -> Rows:
    rows: Rows = [(f"llamacpp:{name}", "counter", "", value) for name, value in counters.items()]
    return rows + [(f"llamacpp:{name}", "gauge", "", value) for name, value in gauges.items()]
