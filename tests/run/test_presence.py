"""Servers that are not there: a lane without one is left out, one whose server goes away waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.server import connected

pytestmark = pytest.mark.slow


class Engine:
    """A sound server on one port. `down` breaks every connection and listens no more, as a kill does."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/healthy/v1"

    async def up(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def down(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(OSError):
            await connected(reader, writer)
        self._writers.discard(writer)


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    made = Engine()
    await made.up()
    yield made
    made.down()


async def replayer(*words: object) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "replayer", *map(str, words), "--plain"]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


def start(folder: Path, engines: list[str], *more: object) -> Any:
    lanes = [word for engine in engines for word in ("--engine", engine)]
    limits = ("--max-turns", 2, "--max-lag", 60000)
    return replayer("run", "--trace", "first-look", *lanes, *limits, *more, "--out", folder)


def events(folder: Path) -> list[dict[str, Any]]:
    """Whole lines: the last one may still be in the writing."""
    if not (folder / "journal.jsonl").exists():
        return []
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


async def until(folder: Path, kind: str, count: int) -> None:
    while sum(event["type"] == kind for event in events(folder)) < count:
        await asyncio.sleep(0.02)


def outcomes(folder: Path) -> Counter[tuple[str, str]]:
    ended = (event for event in events(folder) if event["type"] == "session_finished")
    return Counter((event["session"], event["outcome"]) for event in ended)


def warned(folder: Path) -> Counter[str]:
    return Counter(event["code"] for event in events(folder) if event["type"] == "warning")


async def test_a_server_that_is_killed_ten_times_ends_every_session_once(
    engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    run = await start(folder, [f"a={engine.url}"], "--repeat", 40, "--concurrency", 3)
    for kill in range(10):
        await until(folder, "turn_started", 6 + 7 * kill)
        engine.down()
        while warned(folder)["server_away"] <= kill:
            await asyncio.sleep(0.02)
        await engine.up()
        await until(folder, "turn_finished", 3 + 7 * kill)
    _, errors = await run.communicate()
    assert run.returncode == 0, errors.decode()
    assert outcomes(folder) == {(f"a/first-look/{n}", "done"): 1 for n in range(40)}
    turns = [event for event in events(folder) if event["type"] == "turn_finished"]
    assert len(turns) == 80 and not any(turn["fault"] for turn in turns)
    assert warned(folder)["server_away"] == warned(folder)["server_back"] == 10


async def test_what_a_lost_server_could_not_do_is_left_to_resume(engine: Engine, tmp_path: Path) -> None:
    folder, other = tmp_path / "run", Engine()
    await other.up()
    engines = [f"a={engine.url}", f"b={other.url}"]
    run = await start(folder, engines, "--repeat", 12, "--server-timeout", "0.3")
    await until(folder, "turn_finished", 6)
    engine.down()
    said = b" ".join(await run.communicate()).decode()
    assert run.returncode == 1
    done = {session for session, outcome in outcomes(folder) if outcome == "done"}
    left = 12 - sum(session.startswith("a/") for session in done)
    assert sum(session.startswith("b/") for session in done) == 12 and left > 0
    (end,) = (event for event in events(folder) if event["type"] == "run_finished")
    assert f"did not come back within 0.3 s ({left} of its sessions are unfinished" in end["reasons"][0]
    assert end["reasons"][0] in " ".join(said.split())
    assert sum(outcome == "unreachable" for _, outcome in outcomes(folder)) <= 1
    await engine.up()
    run = await replayer("resume", folder)
    _, errors = await run.communicate()
    assert run.returncode == 0, errors.decode()
    ended = [session for session, outcome in outcomes(folder).elements() if outcome == "done"]
    assert len(ended) == len(set(ended)) == 24
    other.down()


async def test_a_lane_that_cannot_be_made_ready_is_left_out(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = await start(folder, [f"a={engine.url}", "b=http://127.0.0.1:9/v1"])
    said = b" ".join(await run.communicate()).decode()
    assert run.returncode == 1
    assert "b was left out: http://127.0.0.1:9/v1 cannot be reached" in " ".join(said.split())
    assert outcomes(folder) == {("a/first-look/0", "done"): 1}
    run = await start(tmp_path / "none", ["b=http://127.0.0.1:9/v1"])
    await run.communicate()
    assert run.returncode == 3 and not (tmp_path / "none").exists()
