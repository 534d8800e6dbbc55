"""What a server reports of one reply by itself: its speed, and its draft tokens."""

from __future__ import annotations

from replayer.wire.types import JsonObject


def server_decode_speed(extra: JsonObject, completion: int | None) -> float | None:
    """Tokens/s of llama.cpp's `timings` or vLLM's per-request `metrics`; None where the engine reports none.

    vLLM's generation time starts with the first token, and the first speculative step brings several.
    """
    timings, metrics = extra.get("timings"), extra.get("metrics")
    if isinstance(timings, dict) and "predicted_per_second" in timings:
        return float(timings["predicted_per_second"])
    if not isinstance(metrics, dict) or not metrics.get("generation_time_ms") or not completion:
        return None
    steps = _speculation(metrics).get("num_spec_steps")
    first = max(1.0, completion / steps) if isinstance(steps, int) and steps else 1.0
    return (completion - first) / float(metrics["generation_time_ms"]) * 1000


def draft_tokens(extra: JsonObject) -> tuple[int | None, int | None]:
    """Drafted and accepted tokens, by the same reports; None where nothing was drafted."""
    timings, metrics = extra.get("timings"), extra.get("metrics")
    if isinstance(timings, dict) and timings.get("draft_n"):
        return timings["draft_n"], timings.get("draft_n_accepted")
    detail = _speculation(metrics) if isinstance(metrics, dict) else {}
    if detail.get("num_draft_tokens"):
        return detail["num_draft_tokens"], detail.get("num_accepted_draft_tokens")
    return None, None


def _speculation(metrics: JsonObject) -> JsonObject:
    detail = metrics.get("speculative_decoding")
    return detail if isinstance(detail, dict) else {}
