"""Reads an engine's metrics while it works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from replayer.engines.base import Engine, TelemetrySample


async def sample_loop(engine: Engine, interval: float, emit: Callable[[TelemetrySample], None]) -> None:
    """Emit a reading every `interval` seconds until cancelled; an engine that does not answer is left out."""
    while True:
        sample = await engine.telemetry()
        if sample is not None:
            emit(sample)
        await asyncio.sleep(interval)
