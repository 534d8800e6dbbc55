"""ik_llama.cpp's server, where it differs from llama.cpp's."""

from __future__ import annotations

from replayer.engines.base import Tristate
from replayer.engines.ik_llama import IK_LLAMA
from replayer.engines.llamacpp.adapter import LlamaCppEngine
from replayer.wire.types import JsonObject


class IkLlamaEngine(LlamaCppEngine):
    """Its `prompt_tokens_total` leaves cached tokens out and nothing counts those: prompt tokens stay unknown.

    A scrape resets the buckets behind its per-second gauges, which are therefore not read.
    """

    entry = IK_LLAMA

    async def _slots(self) -> list[JsonObject]:
        """Not asked: /slots repeats every prompt in full."""
        return []

    async def reset_cache(self) -> Tristate:
        return "unknown"
