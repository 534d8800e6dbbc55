"""Draft acceptance of one reply, where the engine counts it per request."""

from __future__ import annotations

from typing import Any

from replayer.wire.types import Delta, Reply


class AcceptanceSignal:
    """One finding per reply with drafted tokens: `rate` is accepted / drafted; `length`, the mean tokens per
    verification turn, is 1 + accepted / turns (vLLM's definition) and needs the number of turns."""

    name = "acceptance"
    version = 1

    def feed(self, delta: Delta) -> list[dict[str, Any]]:
        return []

    def finish(self, reply: Reply) -> list[dict[str, Any]]:
        found = acceptance(reply.extra)
        return [found] if found else []


def acceptance(extra: dict[str, Any]) -> dict[str, Any] | None:
    """From llama.cpp's `timings.draft_n` or vLLM's `metrics.speculative_decoding`; None where nothing was drafted."""
    timings = extra.get("timings")
    if isinstance(timings, dict) and timings.get("draft_n"):
        return _finding(timings["draft_n"], timings.get("draft_n_accepted"), None, "timings")
    metrics = extra.get("metrics")
    detail = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
    if isinstance(detail, dict) and detail.get("num_draft_tokens"):
        turns = detail.get("num_spec_steps")
        return _finding(detail["num_draft_tokens"], detail.get("num_accepted_draft_tokens"), turns, "metrics")
    return None


def _finding(drafted: int, accepted: int | None, turns: int | None, source: str) -> dict[str, Any]:
    known = accepted is not None
    return {
        "drafted": drafted,
        "accepted": accepted,
        "rate": accepted / drafted if accepted is not None else None,
        "length": 1 + (accepted or 0) / turns if known and turns else None,
        "source": source,
    }
