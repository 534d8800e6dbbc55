"""How fast one reply came: the client's clock and, apart from it, what the server says of itself."""

from __future__ import annotations

from typing import Any

from replayer.wire.types import Delta, Reply


class SpeedSignal:
    """One finding per complete reply. Speeds in tokens/s, times in milliseconds; unknown is None.

    Decode speed of the client is the completion tokens after the first delta over the time from that delta to the
    end of the stream. Tokens are those of usage, because one delta may carry several; the first delta is taken to
    hold as many as the others.
    """

    name = "speed"
    version = 1

    def feed(self, delta: Delta) -> list[dict[str, Any]]:
        return []

    def finish(self, reply: Reply) -> list[dict[str, Any]]:
        usage = reply.usage or {}
        completion, prompt = _count(usage, "completion_tokens"), _count(usage, "prompt_tokens")
        cached = _count(usage.get("prompt_tokens_details") or {}, "cached_tokens")
        first, arrivals = reply.timing.first_token, reply.timing.arrivals
        if first is None:
            return []
        ttft_ns = first - reply.timing.sent
        decode_ns = reply.timing.ended - first if len(arrivals) > 1 else 0
        after_first = completion - max(1.0, completion / len(arrivals)) if completion and arrivals else 0
        new = None if prompt is None or cached is None else prompt - cached
        client = {
            "ttft_ms": ttft_ns / 1e6,
            "decode_tok_s": after_first / decode_ns * 1e9 if after_first > 0 and decode_ns > 0 else None,
            "prefill_tok_s": new / ttft_ns * 1e9 if new is not None and ttft_ns > 0 else None,
        }
        return [{"client": client, "server": server_speed(reply.extra, completion)}]


def server_speed(extra: dict[str, Any], completion: int | None) -> dict[str, Any] | None:
    """llama.cpp's `timings` or vLLM's per-request `metrics`; None where the engine says nothing per request."""
    timings, metrics = extra.get("timings"), extra.get("metrics")
    if isinstance(timings, dict) and "predicted_per_second" in timings:
        return {
            "decode_tok_s": timings["predicted_per_second"],
            "prefill_tok_s": timings.get("prompt_per_second"),
            "source": "timings",
        }
    if isinstance(metrics, dict) and metrics.get("generation_time_ms"):
        seconds = metrics["generation_time_ms"] / 1000
        return {
            "decode_tok_s": _after_first(metrics, completion) / seconds if completion else None,
            "ttft_ms": metrics.get("time_to_first_token_ms"),
            "queue_ms": metrics.get("queue_time_ms"),
            "source": "metrics",
        }
    return None


def _after_first(metrics: dict[str, Any], completion: int) -> float:
    """vLLM's generation time starts with the first token; the first speculative turn brings several."""
    turns = _count(metrics.get("speculative_decoding"), "num_spec_steps")
    return completion - (max(1.0, completion / turns) if turns else 1.0)


def _count(source: Any, key: str) -> int | None:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, int) else None
