"""What a server reports of one reply by itself: its speed, and its draft tokens."""

from __future__ import annotations

from replayer.wire.counts import count, speed
from replayer.wire.types import JsonObject


def server_decode_speed(extra: JsonObject, completion: int | None) -> float | None:
    """Tokens/s of llama.cpp's `timings` or vLLM's per-request `metrics`; None where the engine reports none.

    vLLM's generation time starts with the first token, and the first speculative step brings several.
    """
    timings, metrics = extra.get("timings"), extra.get("metrics")
    if isinstance(timings, dict) and "predicted_per_second" in timings:
        return speed(timings["predicted_per_second"])
    took = speed(metrics.get("generation_time_ms")) if isinstance(metrics, dict) else None
    if not took or not completion:
        return None
    steps = count(_speculation(metrics).get("num_spec_steps"))
    return (completion - (max(1.0, completion / steps) if steps else 1.0)) / took * 1000


def draft_tokens(extra: JsonObject) -> tuple[int | None, int | None]:
    """Drafted and accepted tokens, by the same reports; None where nothing was drafted."""
    timings, metrics = extra.get("timings"), extra.get("metrics")
    if isinstance(timings, dict) and (drafted := count(timings.get("draft_n"))):
        return drafted, count(timings.get("draft_n_accepted"))
    detail = _speculation(metrics)
    if drafted := count(detail.get("num_draft_tokens")):
        return drafted, count(detail.get("num_accepted_draft_tokens"))
    return None, None


def _speculation(metrics: object) -> JsonObject:
    detail = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
    return detail if isinstance(detail, dict) else {}
