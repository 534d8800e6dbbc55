"""Speed of the tool rooms: verdicts on calls and replies, calls in a sandbox.

    PYTHONPATH=. python benchmarks/tools.py

Goals, medians of several rounds on a quiet machine of two cores: 100,000 typical calls validated per second on one
core; in a sandbox 8,000 files read and 300 shell commands run per second, a session's sandbox started in 70 ms, a
workspace of 5,000 files restored in 150 ms. CPU time stands beside each figure, because load hardly moves it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import statistics
import time
from collections.abc import Awaitable, Callable

from replayer.tools.sandbox.probe import probe
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace
from replayer.tools.toolsets import load
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.markup import find_leaks
from replayer.tools.verdicts.request_facts import RequestFacts
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.wire.types import Reply, Timing, ToolCall


def per_second(act: Callable[[], object], rounds: int = 9, seconds: float = 0.2) -> float:
    """Median over rounds of how often `act` runs in a second."""
    rates = []
    for _ in range(rounds):
        count, begin = 0, time.perf_counter()
        while (taken := time.perf_counter() - begin) < seconds:
            for _ in range(20):
                act()
            count += 20
        rates.append(count / taken)
    return statistics.median(rates)


def validation() -> None:
    """Calls against compiled schemas, whole verdicts, and the search for leaked markup."""
    validator = Validator(load("zed").tools)
    typical = json.dumps({"path": "shipline/shipper.py", "start_line": 10, "end_line": 60})
    edit = {"old_text": "    return self.batch_size\n", "new_text": "    return max(1, self.batch_size)\n"}
    large = json.dumps({"path": "shipline/shipper.py", "content": "        self.batch_size = 1\n" * 760})
    invalid = json.dumps({"path": "a", "edits": [edit, {"old_text": 1}], "mode": "x"})
    rows = (
        ("read_file", typical),
        ("edit_file", json.dumps({"path": "shipline/shipper.py", "edits": [edit]})),
        ("write_file", large),
        ("edit_file", invalid),
    )
    for name, arguments in rows:
        rate = per_second(lambda name=name, arguments=arguments: validator.check(name, arguments, 0))
        worth = "valid" if validator.check(name, arguments).valid else "invalid"
        print(f"{rate:12,.0f} /s  check of one {worth} call, {name}, {len(arguments):,} bytes")
    asked = RequestFacts(max_tokens=400)
    reply = Reply(
        Timing(0, 0, 0, 0),
        content="I will read the file first.",
        tool_calls=(ToolCall(0, "call_1", "read_file", typical),),
        finish_reason="tool_calls",
        usage={"prompt_tokens": 900, "completion_tokens": 40},
        done=True,
    )
    print(
        f"{per_second(lambda: judge(Case(reply, validator, asked))):12,.0f} /s  whole verdict of a reply with one call"
    )
    prose = "The `push()` method returns early when the queue is full, so [the test](x) fails.\n" * 50
    print(
        f"{per_second(lambda: find_leaks(prose, validator.names)):12,.0f} /s  search of {len(prose):,} characters of prose for markup"
    )


def cpu_seconds() -> float:
    """Of this process and of every sandbox that has ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


async def timed(act: Callable[[], Awaitable[object]], rounds: int) -> float:
    """Median seconds of one `act`."""
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        await act()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def repository(files: int = 5000, seed: int = 7) -> Workspace:
    """A tree of about 30 MB in folders of twenty files each."""
    draw = random.Random(seed)
    line = "        return self.batch_size  # as configured\n"
    return Workspace.from_files(
        {f"package{n // 500}/part{n // 20}/module{n}.py": line * draw.randint(20, 230) for n in range(files)}
    )


async def sandboxed() -> None:
    print(f"isolation: {probe().grade}; load of the machine: {os.getloadavg()[0]:.1f}")
    small = Workspace.from_files({"a.py": "x = 1\n" * 300})
    await starts(small)
    await requests(small)
    await restores(repository())


async def starts(workspace: Workspace, rounds: int = 15) -> None:
    before = cpu_seconds()
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        sandbox = await Sandbox.start(workspace)
        taken.append(time.perf_counter() - begin)
        await sandbox.aclose()
    cpu = (cpu_seconds() - before) / rounds
    print(
        f"{statistics.median(taken) * 1000:12.1f} ms  start of a session's sandbox ({cpu * 1000:.1f} ms CPU with its end)"
    )


async def requests(workspace: Workspace, count: int = 2000) -> None:
    """In as many sandboxes at once as there are cores."""
    rows: tuple[tuple[str, int, Callable[[Sandbox], Awaitable[object]]], ...] = (
        ("files of 1.8 kB read", count, lambda box: box.read_file("a.py")),
        (
            "shell commands (bash -c 'echo hi')",
            count // 10,
            lambda box: box.run(["/bin/bash", "-c", "echo hi"]),
        ),
        ("programs run (/bin/true)", count // 10, lambda box: box.run(["/bin/true"])),
    )
    for what, times, act in rows:
        before = cpu_seconds()
        boxes = [await Sandbox.start(workspace) for _ in range(os.cpu_count() or 1)]
        rates = []
        for _ in range(5):
            begin = time.perf_counter()
            await asyncio.gather(*(repeated(act, box, times // 5) for box in boxes))
            rates.append(times // 5 * len(boxes) / (time.perf_counter() - begin))
        for box in boxes:
            await box.aclose()
        cpu = (cpu_seconds() - before) / (times * len(boxes))
        print(
            f"{statistics.median(rates):12,.0f} /s  {what} in {len(boxes)} sandboxes ({cpu * 1e6:,.0f} us CPU each)"
        )


async def repeated(act: Callable[[Sandbox], Awaitable[object]], box: Sandbox, times: int) -> None:
    for _ in range(times):
        await act(box)


async def restores(workspace: Workspace) -> None:
    begin = time.perf_counter()
    async with await Sandbox.start(workspace) as box:
        print(
            f"{(time.perf_counter() - begin) * 1000:12.1f} ms  start with a workspace of {workspace.files:,} entries"
        )
        change = [
            "/bin/bash",
            "-c",
            "for n in $(seq 0 39); do echo x >> package0/part$n/module$((n * 20)).py; done; rm -r package9/part1*; touch new",
        ]

        async def dirtied() -> float:
            await box.run(change)
            begin = time.perf_counter()
            await box.restore()
            return time.perf_counter() - begin

        taken = [await dirtied() for _ in range(7)]
        print(
            f"{statistics.median(taken) * 1000:12.1f} ms  restore of it after 40 changed files and a folder removed"
        )
        print(f"{await timed(box.snapshot, 5) * 1000:12.1f} ms  snapshot of it")


def main() -> None:
    validation()
    asyncio.run(sandboxed())


if __name__ == "__main__":
    main()
