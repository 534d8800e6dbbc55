"""Samples an engine's metrics (and a GPU's state) while lanes run. A run goes on without them; gaps are marked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import httpx

from replayer.engines.base import Engine, TelemetrySample
from replayer.engines.json_values import known as said
from replayer.engines.logs.log_figures import last_sample
from replayer.wire.types import JsonObject

FINAL_SECONDS = 3.0
"""How long the last reading of a lane may take."""
LOG_TAIL_BYTES = 65_536


class Gpus(Protocol):
    """The GPUs that serve a lane (`replayer.telemetry.gpu_lanes`)."""

    async def read(self) -> list[JsonObject]: ...


async def sample_loop(
    engine: Engine,
    interval: float,
    emit: Callable[[JsonObject], None],
    *,
    gpu: Gpus | None = None,
    log: Path | None = None,
) -> None:
    """Read at once, then every `interval` seconds, and once more when cancelled, so that counters are complete.

    Emits what stands in the journal as `TelemetryRead.sample`: the known figures of a TelemetrySample, `at` in
    seconds of the monotonic clock, `gpus`, and `missing` where the metrics gave nothing: `off` (the server has
    none, reported once), `timeout`, or the error. `log`, the server's own log, then stands in for the metrics.
    """
    off_reported = False

    def send(sample: JsonObject) -> None:
        nonlocal off_reported
        off = sample.get("missing") == "off" and not sample.keys() - {"at", "missing"}
        if not (off and off_reported):
            emit(sample)
        off_reported = off_reported or off

    due = time.monotonic()
    try:
        while True:
            send(await read(engine, gpu, log))
            due = max(due + interval, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
    except asyncio.CancelledError:
        send(await _last(engine, gpu, log))
        raise


async def _last(engine: Engine, gpu: Gpus | None, log: Path | None) -> JsonObject:
    try:
        return await asyncio.wait_for(read(engine, gpu, log), FINAL_SECONDS)
    except TimeoutError:
        return {"at": time.monotonic(), "missing": "timeout"}


async def read(engine: Engine, gpu: Gpus | None = None, log: Path | None = None) -> JsonObject:
    """One reading."""
    sample = await _metrics(engine)
    if "missing" in sample and log is not None:
        sample |= _from_log(log)
    if gpu is not None and (gpus := await gpu.read()):
        sample["gpus"] = gpus
        sample["gauges"] = sample.get("gauges", {}) | _gpu_means(gpus)
    return sample


def _gpu_means(gpus: list[JsonObject]) -> dict[str, float]:
    """Means over the lane's GPUs, for curves; memory as the share in use."""
    columns = {
        "gpu_utilisation": [gpu.get("utilisation") for gpu in gpus],
        "gpu_memory_utilisation": [gpu.get("memory_utilisation") for gpu in gpus],
        "gpu_power": [gpu.get("power_w") for gpu in gpus],
        "gpu_temperature": [gpu.get("temperature_c") for gpu in gpus],
        "gpu_memory": [_memory_share(gpu) for gpu in gpus],
    }
    return {
        name: sum(known) / len(known)
        for name, values in columns.items()
        if (known := [float(value) for value in values if value is not None])
    }


def _memory_share(gpu: JsonObject) -> float | None:
    used, free = gpu.get("memory_used"), gpu.get("memory_free")
    return used / (used + free) if used is not None and free is not None and used + free else None


async def _metrics(engine: Engine) -> JsonObject:
    at = time.monotonic()
    try:
        sample = await engine.telemetry()
    except httpx.TimeoutException:
        return {"at": at, "missing": "timeout"}
    except (httpx.HTTPError, ValueError) as error:
        return {"at": at, "missing": str(error) or type(error).__name__}
    return {"at": at, "missing": "off"} if sample is None else known(sample)


def known(sample: TelemetrySample) -> JsonObject:
    """The figures that are known; unknown ones are absent."""
    return {key: value for key, value in asdict(sample).items() if value is not None and value != {}}


def _from_log(log: Path) -> JsonObject:
    """What the last lines of a server's log say, marked with their source; empty where they say nothing."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    sample = last_sample(lines)
    if sample is None:
        return {}
    gauges = {
        "decode_tok_s": sample.decode_tok_s,
        "acceptance_rate": sample.acceptance_rate,
        "acceptance_length": sample.acceptance_length,
        "hit_rate": sample.hit_rate,
    }
    found = {"running": sample.running, "waiting": sample.waiting, "kv_used": sample.kv_used}
    return said(found) | {"gauges": said(gauges), "source": "log"}
