"""Telemetry: readings with their gaps marked, counters over restarts, GPU state, and what a lane's server did."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from replayer.engines.detect import connect
from replayer.engines.prometheus import parse
from replayer.metrics.telemetry_figures import server_figures, speed_bands
from replayer.simulated import SimulatedSpec, launch
from replayer.telemetry.deltas import deltas, foreign_tokens
from replayer.telemetry.energy import energy_j, lane_energy
from replayer.telemetry.gpu import Gpu, dcgm_gpus
from replayer.telemetry.gpu_lanes import GpuUse, LaneGpus
from replayer.telemetry.sampler import read, sample_loop

ASK = {"model": "simulated", "messages": [{"role": "user", "content": "why does it fail " * 50}]}


@dataclass
class Reading:
    sample: dict[str, Any]
    instance: str = "a"


@dataclass
class Turn:
    decode_tok_s: float
    accepted: int | None = None
    drafted: int | None = None
    completion_tokens: int = 100
    server_tok_s: float | None = None


@dataclass
class Running:
    """A simulated server and its adapter, ended with the test."""

    options: dict[str, Any] = field(default_factory=dict)

    async def __aenter__(self):
        self.server = await launch(SimulatedSpec.from_options(self.options))
        self.engine = await connect(self.server.base_url)
        return self.engine

    async def __aexit__(self, *_):
        await self.engine.aclose()
        await self.server.stop()


async def ask(engine):
    reply = await engine.http.post(f"{engine.base_url}/chat/completions", json=ASK)
    return reply.json()["usage"]


async def collect(engine, work=None, **more):
    """What is read before some work, and at its end."""
    seen = []
    first = asyncio.Event()

    def take(sample):
        seen.append(sample)
        first.set()

    task = asyncio.ensure_future(sample_loop(engine, 0.1, take, **more))
    await first.wait()
    if work:
        await work
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return seen


async def test_counters_agree_with_usage_to_the_token_because_the_last_reading_comes_last():
    async with Running({"kind": "vllm"}) as engine:
        usages = []

        async def work():
            usages.append(await ask(engine))
            usages.append(await ask(engine))

        seen = await collect(engine, work=work())
    total = deltas(seen)
    assert total.complete
    assert total.counters["prompt_tokens"] == sum(usage["prompt_tokens"] for usage in usages)
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
    assert total.counters["cached_tokens"] == cached > 0
    assert total.counters["generated_tokens"] == sum(usage["completion_tokens"] for usage in usages)


async def test_metrics_that_are_switched_off_are_said_once():
    async with Running({"kind": "vllm", "report_metrics": False}) as engine:
        seen = await collect(engine)
    assert [sample["missing"] for sample in seen] == ["off"]
    figures = server_figures([Reading(sample) for sample in seen])
    assert figures["complete"] is False and figures["why"] == ["off"]
    assert figures["tokens"]["generated"] is None


async def test_the_servers_log_stands_in_for_metrics_that_are_off(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "INFO 11-21 01:45:13 [loggers.py:335] Engine 000: Avg prompt throughput: 1.5 tokens/s, Avg generation "
        "throughput: 19.0 tokens/s, Running: 1 reqs, Waiting: 2 reqs, CPU KV cache usage: 0.8%, "
        "Prefix cache hit rate: 46.2%\n"
    )
    async with Running({"kind": "vllm", "report_metrics": False}) as engine:
        sample = await read(engine, log=log)
    assert (sample["source"], sample["running"], sample["waiting"]) == ("log", 1, 2)
    assert sample["gauges"] == {"decode_tok_s": 19.0, "hit_rate": 0.462}


async def test_a_metrics_page_that_times_out_is_marked(monkeypatch):
    monkeypatch.setattr("replayer.engines.openai.adapter.METRICS_SECONDS", 0.05)
    async with Running({"kind": "vllm", "metrics_delay": 5}) as engine:
        seen = await collect(engine)
    assert {sample["missing"] for sample in seen} == {"timeout"}


async def test_a_server_that_is_gone_is_marked():
    async with Running() as engine:
        pass
    engine = await connect_nowhere(engine.base_url)
    sample = await read(engine)
    await engine.aclose()
    assert "missing" in sample and sample["missing"] != "off"


async def connect_nowhere(base_url):
    import httpx

    from replayer.engines.vllm.adapter import VllmEngine

    return VllmEngine(base_url, httpx.AsyncClient())


def sample(at, **figures):
    return {"at": at} | figures


def test_a_restarted_engine_is_flagged_and_nothing_is_counted_twice_or_negative():
    readings = [
        sample(0, prompt_tokens=1000, generated_tokens=100, drafts=10, drafted=40, accepted=30),
        sample(1, prompt_tokens=1500, generated_tokens=160, drafts=20, drafted=80, accepted=50),
        sample(1.5, missing="timeout"),
        sample(2, prompt_tokens=200, generated_tokens=20, drafts=2, drafted=8, accepted=8),
        sample(3, prompt_tokens=300, generated_tokens=50, drafts=4, drafted=16, accepted=16),
    ]
    total = deltas(readings)
    assert (total.resets, total.missing, total.complete) == (1, 1, False)
    assert total.counters["prompt_tokens"] == 500 + 200 + 100
    assert total.counters["generated_tokens"] == 60 + 20 + 30
    assert total.acceptance_rate == (20 + 8 + 8) / (40 + 8 + 8)
    assert total.acceptance_length == 1 + (20 + 8 + 8) / (10 + 2 + 2)


def test_what_the_server_does_not_report_is_unknown_not_zero():
    total = deltas([sample(0, prompt_tokens=5), sample(1, prompt_tokens=9)])
    assert total.counters == {"prompt_tokens": 4}
    assert total.hit_rate is None and total.acceptance_rate is None


def test_foreign_traffic_is_told():
    readings = [Reading(sample(0, generated_tokens=0)), Reading(sample(5, generated_tokens=500))]
    assert server_figures(readings, 500)["foreign_tokens"]["generated"] == 0
    assert server_figures(readings, 300)["foreign_tokens"]["generated"] == 200
    assert server_figures(readings, None)["foreign_tokens"]["generated"] is None
    again = [*readings, readings[0]]  # its counters fell: what it counted before is not known
    assert server_figures(again, 300)["foreign_tokens"]["generated"] is None
    assert foreign_tokens(None, 3) is None


def test_two_instances_of_a_lane_add_up():
    readings = [
        Reading(sample(0, generated_tokens=0), "a"),
        Reading(sample(0, generated_tokens=50), "b"),
        Reading(sample(2, generated_tokens=10), "a"),
        Reading(sample(2, generated_tokens=90), "b"),
    ]
    assert server_figures(readings)["tokens"]["generated"] == 50


DCGM = """\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in percent).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-5",device="nvidia0",modelName="NVIDIA H200",Hostname="n"} 87
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-6",device="nvidia1",modelName="NVIDIA H200",Hostname="n"} 91
DCGM_FI_DEV_MEM_COPY_UTIL{gpu="0",modelName="NVIDIA H200"} 44
DCGM_FI_DEV_FB_USED{gpu="0",modelName="NVIDIA H200"} 45000
DCGM_FI_DEV_FB_USED{gpu="1",modelName="NVIDIA H200"} 45010
DCGM_FI_DEV_GPU_TEMP{gpu="0",modelName="NVIDIA H200"} 61
DCGM_FI_DEV_GPU_TEMP{gpu="1",modelName="NVIDIA H200"} 63
DCGM_FI_DEV_POWER_USAGE{gpu="0",modelName="NVIDIA H200"} 412.5
DCGM_FI_DEV_POWER_USAGE{gpu="1",modelName="NVIDIA H200"} 400.0
# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",modelName="NVIDIA H200"} %d
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",modelName="NVIDIA H200"} %d
"""
"""The names and units of NVIDIA's dcgm-exporter: MiB, W, and millijoules since the driver was loaded."""


def test_a_dcgm_page_gives_gpu_state_and_energy_per_token():
    pages = [dcgm_gpus(parse(DCGM % joules)) for joules in ((1_000_000, 2_000_000), (1_900_000, 2_600_000))]
    own = {"assignment": "asked", "lanes": ["a"]}
    before, after = [[gpu.as_data() | own for gpu in page] for page in pages]
    readings = [
        Reading(sample(0, generated_tokens=0, gpus=before)),
        Reading(sample(2, generated_tokens=300, gpus=after)),
    ]
    gpu = server_figures(readings)["gpu"]
    assert (gpu["energy_j"], gpu["energy_per_token_j"]) == (1500.0, 5.0)
    assert (gpu["peak_utilisation"], gpu["peak_temperature_c"]) == (0.91, 63)
    assert gpu["peak_memory_bytes"] == 45010 * 2**20 and gpu["names"] == ["NVIDIA H200"]
    assert gpu["peak_memory_utilisation"] == 0.44
    assert [(one["gpu"], one["peak_power_w"]) for one in gpu["gpus"]] == [("0", 412.5), ("1", 400.0)]


def test_energy_without_a_counter_is_power_over_time():
    gpus = [{"gpu": "0", "power_w": 100.0, "source": "nvml"}, {"gpu": "1", "power_w": 50.0, "source": "nvml"}]
    louder = [{**gpus[0], "power_w": 200.0}, gpus[1]]
    assert energy_j([sample(0, gpus=gpus), sample(2, gpus=gpus), sample(3, gpus=louder)]) == 300 + 200
    assert energy_j([sample(0, gpus=gpus)]) is None


@dataclass
class Host:
    """A machine with GPUs, as NVML shows it: each reading finds them 100 J further on."""

    running: dict[str, set[int]] | None
    joules: float = 0.0

    async def read(self):
        self.joules += 100
        return [Gpu(gpu=n, source="nvml", uuid=f"GPU-{n}", energy_j=self.joules) for n in "01"]

    def users(self):
        return self.running


async def readings_of(lanes, times=3):
    """Samples of lanes that are read side by side."""
    seen = {lane: [] for lane in lanes}
    for at in range(times):
        for lane, gpus in lanes.items():
            seen[lane].append(sample(at, gpus=await gpus.read()))
    return seen


async def test_energy_of_a_gpu_that_two_lanes_share_is_counted_for_neither():
    """Each of two lanes on one GPU had all of its energy: 48,786 J twice."""
    host, use = Host(None), GpuUse()
    url = "http://127.0.0.1:1/v1"
    lanes = {
        name: LaneGpus(name, host, use, base_url=url, asked=asked)
        for name, asked in {"a": [0], "b": [0], "c": ["GPU-1"]}.items()
    }
    energy = {name: lane_energy(samples) for name, samples in (await readings_of(lanes)).items()}
    assert (energy["a"].joules, energy["a"].lanes) == (None, ("a", "b"))
    assert energy["a"].shared_joules == energy["b"].shared_joules == 600
    assert (energy["c"].joules, energy["c"].assignment, energy["c"].lanes) == (600, "asked", ("c",))


async def test_the_gpus_of_a_server_are_found_by_its_processes():
    """The engine computes in a child of the process that listens; a lane whose server cannot be seen may use any GPU."""
    async with Running() as engine:
        host, use = Host({"GPU-0": {1}, "GPU-1": set()}), GpuUse()
        host.running["GPU-1"].add(engine_pid(engine))
        found = (await LaneGpus("a", host, use, base_url=engine.base_url).read())[0]
        assert (found["gpu"], found["assignment"], found["lanes"]) == ("1", "detected", ["a"])
        both = {
            "a": LaneGpus("a", host, use, base_url=engine.base_url),
            "b": LaneGpus("b", host, use, base_url="http://127.0.0.1:9/v1"),
        }
        energy = {name: lane_energy(samples) for name, samples in (await readings_of(both)).items()}
    assert {one.assignment for one in energy.values()} == {"unknown"}
    assert {one.joules for one in energy.values()} == {None}
    assert lane_energy([sample(at, gpus=[{"gpu": "0", "energy_j": at}]) for at in (1, 2)]).joules is None


def engine_pid(engine):
    from replayer.telemetry.gpu_lanes import listeners

    (pid,) = listeners(engine.base_url)
    return pid


def test_acceptance_follows_from_gauges_where_there_is_no_counter():
    """SGLang has none, and counts tokens when a request ends (the readings are those of a run
    on an H200; over a longer one its 95,280 tokens came in 74,471 chunks, 1.279 each, where this gives 1.276)."""
    lengths = [
        0,
        1.5,
        1.075,
        1.425,
        1.075,
        1.125,
        1.0,
        1.2,
        1.325,
        1.4,
        1.025,
        1.125,
        1.0,
        1.15,
        1.15,
        1.275,
        1.4,
    ]
    readings = [
        sample(
            at,
            running=float(at > 0),
            generated_tokens=float(at // 4 * 700),
            gauges={"spec_accept_length": length, "spec_accept_rate": max(0.0, (length - 1) / 11)},
        )
        for at, length in enumerate(lengths)
    ]
    idle = [
        sample(at, running=0.0, generated_tokens=2800.0, gauges={"spec_accept_length": 9.0})
        for at in (30, 31)
    ]
    assert deltas(idle).acceptance_length is None
    figures = server_figures([Reading(one) for one in readings])
    assert figures["acceptance"]["source"] == "gauges"
    assert figures["acceptance"]["length"] == pytest.approx(sum(lengths) / 16)
    assert figures["acceptance"]["rate"] == pytest.approx((sum(lengths) / 16 - 1) / 11)


def test_bands_over_turns_where_the_engine_counts_drafts_per_request():
    turns = [Turn(95 + at % 3, 80, 100) for at in range(12)] + [
        Turn(107 + at % 3, 99, 100) for at in range(12)
    ]
    found = speed_bands(turns, [])
    assert found["over"] == "turns" and len(found["bands"]) == 2
    assert found["explained_by_acceptance"] > 0.9


def test_bands_over_readings_where_only_counters_tell():
    readings, tokens, drafted, accepted = [], 0.0, 0, 0
    for second in range(40):
        readings.append(
            Reading(sample(second, generated_tokens=tokens, drafted=drafted, accepted=accepted, running=1))
        )
        fast = second // 10 % 2
        tokens += (107 if fast else 95) + second % 3
        drafted, accepted = drafted + 100, accepted + (99 if fast else 80)
    found = speed_bands([], readings)
    assert found["over"] == "readings" and len(found["bands"]) == 2
    assert speed_bands([], []) is None


@pytest.mark.parametrize("kind", ["sglang", "llamacpp", "trtllm", "ik_llama"])
async def test_every_kind_is_sampled(kind):
    async with Running({"kind": kind, "draft_tokens": 2}) as engine:
        await ask(engine)  # TensorRT-LLM says nothing before its first iteration
        seen = await collect(engine, work=ask(engine))
    known = [sample for sample in seen if "missing" not in sample]
    assert known, seen
    figures = server_figures([Reading(sample) for sample in seen])
    assert (figures["tokens"]["cached"] is None) == (kind == "ik_llama")
