"""Samples an engine's metrics (and a GPU's state) while lanes run. A run goes on without them; gaps are marked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import httpx

from replayer.engines.base import Engine, TelemetrySample
from replayer.engines.logs.log_figures import last_sample

FINAL_SECONDS = 3.0
"""How long the last reading of a lane may take."""
LOG_TAIL_BYTES = 65_536


class GpuReader(Protocol):
    """Reads the state of the GPUs that serve a lane (`replayer.telemetry.gpu`)."""

    async def read(self) -> list[dict[str, Any]]: ...


async def sample_loop(
    engine: Engine,
    interval: float,
    emit: Callable[[dict[str, Any]], None],
    *,
    gpu: GpuReader | None = None,
    log: Path | None = None,
) -> None:
    """Read at once, then every `interval` seconds, and once more when cancelled, so that counters are complete.

    Emits what stands in the journal as `TelemetryRead.sample`: the known figures of a TelemetrySample, `at` in
    seconds of the monotonic clock, `gpus`, and `missing` where the metrics gave nothing: `off` (the server has
    none, said once), `timeout`, or the error. `log`, the server's own log, then stands in for the metrics.
    """
    told_off = False

    def send(sample: dict[str, Any]) -> None:
        nonlocal told_off
        off = sample.get("missing") == "off" and not sample.keys() - {"at", "missing"}
        if not (off and told_off):
            emit(sample)
        told_off = told_off or off

    due = time.monotonic()
    try:
        while True:
            send(await read(engine, gpu, log))
            due = max(due + interval, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
    except asyncio.CancelledError:
        send(await _last(engine, gpu, log))
        raise


async def _last(engine: Engine, gpu: GpuReader | None, log: Path | None) -> dict[str, Any]:
    try:
        return await asyncio.wait_for(read(engine, gpu, log), FINAL_SECONDS)
    except TimeoutError:
        return {"at": time.monotonic(), "missing": "timeout"}


async def read(engine: Engine, gpu: GpuReader | None = None, log: Path | None = None) -> dict[str, Any]:
    """One reading."""
    sample = await _metrics(engine)
    if "missing" in sample and log is not None:
        sample |= _from_log(log)
    if gpu is not None and (gpus := await gpu.read()):
        sample["gpus"] = gpus
        sample["gauges"] = sample.get("gauges", {}) | _gpu_means(gpus)
    return sample


def _gpu_means(gpus: list[dict[str, Any]]) -> dict[str, float]:
    """Means over all GPUs, for curves; memory as the share in use."""
    columns = {
        "gpu_utilisation": [gpu.get("utilisation") for gpu in gpus],
        "gpu_power": [gpu.get("power_w") for gpu in gpus],
        "gpu_temperature": [gpu.get("temperature_c") for gpu in gpus],
        "gpu_memory": [_memory_share(gpu) for gpu in gpus],
    }
    return {
        name: sum(known) / len(known)
        for name, values in columns.items()
        if (known := [float(value) for value in values if value is not None])
    }


def _memory_share(gpu: dict[str, Any]) -> float | None:
    used, free = gpu.get("memory_used"), gpu.get("memory_free")
    return used / (used + free) if used is not None and free is not None and used + free else None


async def _metrics(engine: Engine) -> dict[str, Any]:
    at = time.monotonic()
    try:
        sample = await engine.telemetry()
    except httpx.TimeoutException:
        return {"at": at, "missing": "timeout"}
    except (httpx.HTTPError, ValueError) as error:
        return {"at": at, "missing": str(error) or type(error).__name__}
    return {"at": at, "missing": "off"} if sample is None else known(sample)


def known(sample: TelemetrySample) -> dict[str, Any]:
    """The figures that are known; unknown ones are absent."""
    return {key: value for key, value in asdict(sample).items() if value is not None and value != {}}


def _from_log(log: Path) -> dict[str, Any]:
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
    known_figures = {name: value for name, value in found.items() if value is not None}
    known_gauges = {name: value for name, value in gauges.items() if value is not None}
    return known_figures | {"gauges": known_gauges, "source": "log"}
