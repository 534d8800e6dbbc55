"""GPU state as readings: NVML on this machine, or a DCGM exporter's page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from replayer.engines.http_client import METRICS_BYTES, at_most, http_client
from replayer.engines.json_values import known
from replayer.engines.prometheus import Page, parse
from replayer.errors import MissingPartError
from replayer.lazy import dataclass
from replayer.wire.types import JsonObject

DCGM_FIELDS = {
    "utilisation": ("DCGM_FI_DEV_GPU_UTIL", 0.01),
    "memory_utilisation": ("DCGM_FI_DEV_MEM_COPY_UTIL", 0.01),
    "memory_used": ("DCGM_FI_DEV_FB_USED", 2**20),
    "memory_free": ("DCGM_FI_DEV_FB_FREE", 2**20),
    "temperature_c": ("DCGM_FI_DEV_GPU_TEMP", 1),
    "power_w": ("DCGM_FI_DEV_POWER_USAGE", 1),
    "energy_j": ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 0.001),
}
"""Common word -> DCGM exporter's field and the factor to shares, bytes, °C, watts and joules."""
LOCAL = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU at one moment. `memory_utilisation` is the share of time in which its memory was read or written;
    `energy_j` counts since the driver was loaded."""

    gpu: str
    """Its number on its host."""
    source: str
    uuid: str | None = None
    name: str | None = None
    utilisation: float | None = None
    memory_utilisation: float | None = None
    memory_used: float | None = None
    memory_free: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    energy_j: float | None = None

    @property
    def key(self) -> str:
        return self.uuid or self.gpu

    def as_data(self) -> JsonObject:
        return known(asdict(self))


class GpuReader(Protocol):
    """Reads all GPUs of a host."""

    async def read(self) -> list[Gpu]: ...

    def users(self) -> dict[str, set[int]] | None:
        """Process ids that compute on each GPU, by its key; None where that cannot be seen."""


class DcgmReader:
    """Reads a DCGM exporter. A page that fails is an empty reading."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = http_client(url, timeout=3)

    async def read(self) -> list[Gpu]:
        try:
            reply = await self._http.get(self._url, extensions=at_most(METRICS_BYTES))
            return dcgm_gpus(parse(reply.text)) if reply.status_code == 200 else []
        except (httpx.HTTPError, ValueError):
            return []

    def users(self) -> dict[str, set[int]] | None:
        return None


def dcgm_gpus(page: Page) -> list[Gpu]:
    """One entry per GPU of a DCGM page."""
    found: dict[str, JsonObject] = {}
    for word, (name, factor) in DCGM_FIELDS.items():
        for labels, value in page.samples.get(name, []):
            gpu = found.setdefault(labels.get("gpu", "0"), {})
            gpu.setdefault("name", labels.get("modelName"))
            gpu.setdefault("uuid", labels.get("UUID"))
            gpu[word] = value * factor
    return [Gpu(gpu=number, source="dcgm", **found[number]) for number in sorted(found)]


class NvmlReader:
    """Reads the GPUs of this machine. Raises MissingPartError without NVML."""

    def __init__(self) -> None:
        try:
            import pynvml

            pynvml.nvmlInit()
        except ImportError:
            raise MissingPartError("GPU state needs NVML: `pip install 'agent-replayer[gpu]'`") from None
        except pynvml.NVMLError as error:
            raise MissingPartError(f"NVML does not answer on this machine: {error}") from None
        self._nvml: Any = pynvml
        self.handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]

    async def read(self) -> list[Gpu]:
        return await asyncio.to_thread(lambda: [self._gpu(i, h) for i, h in enumerate(self.handles)])

    def users(self) -> dict[str, set[int]] | None:
        found: dict[str, set[int]] = {}
        try:
            for number, handle in enumerate(self.handles):
                running = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
                found[self._gpu(number, handle).key] = {process.pid for process in running}
        except self._nvml.NVMLError:
            return None
        return found

    def _gpu(self, number: int, handle: object) -> Gpu:
        nvml = self._nvml
        questions: dict[str, Callable[[], Any]] = {
            "uuid": lambda: str(nvml.nvmlDeviceGetUUID(handle)),
            "name": lambda: str(nvml.nvmlDeviceGetName(handle)),
            "utilisation": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
            "memory_utilisation": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).memory / 100,
            "memory_used": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used,
            "memory_free": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).free,
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "energy_j": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
        }
        answers: JsonObject = {}
        for word, ask in questions.items():
            with contextlib.suppress(nvml.NVMLError):
                answers[word] = ask()
        return Gpu(gpu=str(number), source="nvml", **answers)


def open_gpu(base_url: str, dcgm_url: str | None = None) -> GpuReader | None:
    """The reader for a server: DCGM where a URL is given, NVML for a server on this machine, else None."""
    if dcgm_url:
        return DcgmReader(dcgm_url)
    if urlsplit(base_url).hostname not in LOCAL:
        return None
    try:
        reader = NvmlReader()
    except MissingPartError:
        return None
    return reader if reader.handles else None
