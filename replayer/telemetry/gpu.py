"""GPU state: NVML on this machine, or a DCGM exporter's page; and energy per generated token from either."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from replayer.engines.http_client import http_client
from replayer.engines.prometheus import Page, parse
from replayer.errors import MissingPartError
from replayer.telemetry.sampler import GpuReader

DCGM_FIELDS = {
    "utilisation": ("DCGM_FI_DEV_GPU_UTIL", 0.01),
    "memory_used": ("DCGM_FI_DEV_FB_USED", 2**20),
    "memory_free": ("DCGM_FI_DEV_FB_FREE", 2**20),
    "temperature_c": ("DCGM_FI_DEV_GPU_TEMP", 1),
    "power_w": ("DCGM_FI_DEV_POWER_USAGE", 1),
    "energy_j": ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 0.001),
}
"""Common word -> DCGM exporter's field and the factor to shares, bytes, °C, watts and joules."""
LOCAL = {"127.0.0.1", "localhost", "::1"}


class DcgmReader:
    """Reads a DCGM exporter. A page that fails is an empty reading."""

    def __init__(self, url: str, http: httpx.AsyncClient | None = None) -> None:
        self._url = url
        self._http = http or http_client(url, timeout=3)

    async def read(self) -> list[dict[str, Any]]:
        try:
            reply = await self._http.get(self._url)
            return dcgm_gpus(parse(reply.text)) if reply.status_code == 200 else []
        except (httpx.HTTPError, ValueError):
            return []


def dcgm_gpus(page: Page) -> list[dict[str, Any]]:
    """One entry per GPU of a DCGM page."""
    gpus: dict[str, dict[str, Any]] = {}
    for word, (name, factor) in DCGM_FIELDS.items():
        for labels, value in page.samples.get(name, []):
            number = labels.get("gpu", "0")
            gpu = gpus.setdefault(number, {"gpu": number, "name": labels.get("modelName"), "source": "dcgm"})
            gpu[word] = value * factor
    return [gpus[number] for number in sorted(gpus)]


class NvmlReader:
    """Reads the GPUs of this machine. Raises MissingPartError where there is no NVML."""

    def __init__(self) -> None:
        try:
            import pynvml

            pynvml.nvmlInit()
        except ImportError:
            raise MissingPartError("GPU state needs NVML: `pip install 'agent-replayer[gpu]'`") from None
        except pynvml.NVMLError as error:
            raise MissingPartError(f"NVML does not answer on this machine: {error}") from None
        self._nvml: Any = pynvml
        self._handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]

    async def read(self) -> list[dict[str, Any]]:
        return await asyncio.to_thread(lambda: [self._gpu(i, h) for i, h in enumerate(self._handles)])

    def _gpu(self, number: int, handle: Any) -> dict[str, Any]:
        nvml = self._nvml
        gpu: dict[str, Any] = {"gpu": str(number), "source": "nvml"}
        questions: dict[str, Callable[[], Any]] = {
            "name": lambda: str(nvml.nvmlDeviceGetName(handle)),
            "utilisation": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
            "memory_used": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used,
            "memory_free": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).free,
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "energy_j": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
        }
        for word, ask in questions.items():
            with contextlib.suppress(nvml.NVMLError):
                gpu[word] = ask()
        return gpu


def open_gpu(base_url: str, dcgm_url: str | None = None) -> GpuReader | None:
    """The reader for an engine: DCGM where a URL is given, NVML for an engine on this machine, else None."""
    if dcgm_url:
        return DcgmReader(dcgm_url)
    if urlsplit(base_url).hostname not in LOCAL:
        return None
    try:
        reader = NvmlReader()
    except MissingPartError:
        return None
    return reader if reader._handles else None


def energy_j(samples: Sequence[dict[str, Any]]) -> float | None:
    """Joules that all GPUs used over the readings: from their energy counters, else power integrated over time.

    None with fewer than two readings that say either.
    """
    read = [(sample["at"], sample["gpus"]) for sample in samples if sample.get("gpus")]
    if len(read) < 2:
        return None
    first, last = _by_number(read[0][1]), _by_number(read[-1][1])
    if all("energy_j" in gpus.get(number, {}) for gpus in (first, last) for number in first):
        return sum(float(last[number]["energy_j"] - first[number]["energy_j"]) for number in first)
    total = 0.0
    for (at, gpus), (then, later) in itertools.pairwise(read):
        before, after = _power(gpus), _power(later)
        if before is None or after is None:
            return None
        total += (before + after) / 2 * (then - at)
    return total


def _by_number(gpus: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {gpu["gpu"]: gpu for gpu in gpus}


def _power(gpus: Sequence[dict[str, Any]]) -> float | None:
    watts = [gpu.get("power_w") for gpu in gpus]
    return None if None in watts else float(sum(w for w in watts if w is not None))


def energy_per_token_j(samples: Sequence[dict[str, Any]], generated_tokens: float | None) -> float | None:
    energy = energy_j(samples)
    return energy / generated_tokens if energy is not None and generated_tokens else None
