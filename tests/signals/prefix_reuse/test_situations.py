"""The grid of planted situations, each run with the real command: a right cause or `unknown`, never a wrong one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.simulated import SimulatedSpec, launch
from replayer.traces import library
from tests.signals.prefix_reuse.situations import TRANSFORMS, Situation, on_llamacpp, situations

ALL = {situation.name: situation for situation in situations()}
FAST = [
    "healthy-vllm-16",
    "healthy-live",
    "off-sglang",
    "silent-off-vllm",
    "two-settings-vllm",
    "adapter",
    "small-pool-vllm-8",
    "large-pool-32",
    "clock-vllm",
    "parts-sglang",
    "repeat-without-reset-llamacpp",
    "warm-llamacpp",
]
"""One of each family; the whole grid is slow."""


@asynccontextmanager
async def shared(situation: Situation) -> AsyncIterator[str]:
    """The base URL of the server that the situation's lanes share; empty where each has its own."""
    if not any("{S}" in lane for lane in situation.lanes):
        yield ""
        return
    trace = str(library.shipped()[situation.trace])
    server = await launch(SimulatedSpec.from_options({"trace": [trace], **situation.server}))
    yield server.base_url
    await server.stop()


async def report(situation: Situation, folder: Path) -> dict[str, Any]:
    Path(folder, "manager.py").write_text(TRANSFORMS)
    async with shared(situation) as url:
        lanes = [word for lane in situation.lanes for word in ("--engine", lane.replace("{S}", url))]
        command = [sys.executable, "-m", "replayer", "run", "--trace", situation.trace, *lanes]
        command += [*situation.args, "--json", "--plain"]
        command += ["--transform", f"manager:{situation.transform}"] if situation.transform else []
        for number in range(1 + situation.warm):
            process = await asyncio.create_subprocess_exec(
                *command, "--out", str(folder / f"run{number}"), cwd=folder,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            out, errors = await process.communicate()
    assert out, errors.decode()
    document: dict[str, Any] = orjson.loads(out)
    return document


def check(situation: Situation, document: dict[str, Any]) -> int:
    """How many lanes are left unknown. Fails on a wrong cause, and where the words contradict the cause."""
    unknown = 0
    for lane in document["lanes"]:
        found = lane["prefix_cache"]
        cause = found["cause"]
        assert lane["turns"] > 0
        assert cause == "unknown" or cause in situation.right, (lane["lane"], found)
        unknown += cause == "unknown"
        if cause not in (None, "not_reported", "unknown"):
            assert found["evidence"] and found["cost"]["tokens"] > 0, found
        if cause in (None, "unknown"):
            assert found["fix"] is None, "no remedy without a cause"
    return unknown


@pytest.mark.parametrize("name", FAST)
async def test_a_planted_situation(tmp_path: Path, name: str) -> None:
    assert check(ALL[name], await report(ALL[name], tmp_path)) == 0


@pytest.mark.slow
async def test_the_whole_grid(tmp_path: Path) -> None:
    """At most one in ten may be left unknown."""
    unknown = 0
    for situation in ALL.values():
        folder = tmp_path / situation.name
        folder.mkdir()
        unknown += check(situation, await report(situation, folder)) > 0
    assert len(ALL) >= 80
    assert unknown <= 0.1 * len(ALL)


async def test_pressure_is_one_sentence(tmp_path: Path) -> None:
    situation = ALL["small-pool-vllm-16"]
    (lane,) = (await report(situation, tmp_path))["lanes"]
    found = lane["prefix_cache"]
    pressure = found["pressure"]
    assert pressure["sessions"] == 16
    assert 1 <= pressure["would_fit"] < 16
    assert pressure["sentence"].startswith("pool too small for 16 sessions: ")
    assert found["verdict"].startswith(pressure["sentence"])


@pytest.mark.slow
async def test_lanes_of_one_server_are_as_if_each_were_alone(tmp_path: Path) -> None:
    """Two settings and an adapter: ten runs, each figure within the range of the lane alone."""
    together = ALL["adapter-and-settings"]
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        document = await report(together, folder)
        for lane, spec in zip(document["lanes"], together.lanes, strict=True):
            alone = Situation(
                name="alone", lanes=(spec,), server=together.server, args=together.args, right=together.right
            )
            (folder / lane["lane"]).mkdir()
            (single,) = (await report(alone, folder / lane["lane"]))["lanes"]
            low, high = single["prefix_cache"]["range"]
            assert low - 0.002 <= lane["prefix_cache"]["reported"] <= high + 0.002
            assert lane["prefix_cache"]["ideal"] == pytest.approx(single["prefix_cache"]["ideal"], abs=0.002)
            assert not lane["server"]["foreign_tokens"]["prompt"]


@pytest.mark.slow
@pytest.mark.parametrize("situation", list(on_llamacpp()), ids=lambda situation: situation.name)
async def test_the_same_on_the_embedded_llamacpp(situation: Situation, tmp_path: Path) -> None:
    assert check(situation, await report(situation, tmp_path)) == 0
