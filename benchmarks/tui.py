"""What the screen costs: a journal fed with 20,000 events/s from four lanes, and a finished run of 2,000 steps.

    python -m benchmarks.tui [--rate 20000] [--seconds 8]

Goals: a key answered within 150 ms, under half a core, at most 1 KB of memory per step; 2,000 steps open in under 1 s.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import tempfile
import time
import tracemalloc
from multiprocessing import Process
from pathlib import Path

from replayer.events import StepFinished, StepStarted, VerdictGiven
from replayer.tui.app import ReplayerApp
from replayer.tui.source import RunSource
from tests.tui.pictures import Folder

LANES: dict[str, dict[str, float]] = {name: {} for name in ("vllm", "sglang", "trtllm", "llamacpp")}
SIZE = (200, 50)


def feed(path: Path, rate: int, seconds: float) -> None:
    """Append ready lines to the journal of a run that has begun, in bursts of 20 ms."""
    lines = _step_lines()
    with (path / "journal.jsonl").open("ab", buffering=0) as journal:
        began, step = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            due = int(passed * rate / len(lines))
            burst = []
            for number in range(step, due):
                lane = list(LANES)[number % 4].encode()
                burst += [
                    line.replace(b"@lane", lane).replace(b"987654321", b"%d" % (number // 4))
                    for line in lines
                ]
            step = max(step, due)
            journal.write(b"".join(burst))
            time.sleep(0.02)


def _step_lines() -> list[bytes]:
    where = {"cell": "@lane/session/0", "attempt": 1, "step": 987654321, "at": 5}
    usage = {"prompt_tokens": 20_000, "cached_tokens": 19_000, "completion_tokens": 60}
    events = [
        StepStarted(**where, turn=1, body_bytes=1, wall=0.0),
        StepFinished(
            **where, content="I look at it.", reasoning="", tool_calls=[], finish_reason="stop", usage=usage,
            usage_source="usage", done=True, fault=None, retries=0, headers_ns=1, ttft_ns=50_000_000,
            total_ns=600_000_000,
        ),
        VerdictGiven(**where, usable=True, faults=[]),
    ]  # fmt: skip
    return [event.model_dump_json().encode() + b"\n" for event in events]


def folder(scratch: str, steps: int) -> Folder:
    made = Folder(Path(scratch) / "run", LANES, steps=1_000_000)
    for step in range(steps // 4):
        for lane in LANES:
            made.step(lane, step)
    return made


async def busy(rate: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        made = folder(scratch, 4)
        app = ReplayerApp(RunSource(made.path).poll, [made.path])
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause(1)
            writer = Process(target=feed, args=(made.path, rate, seconds))
            writer.start()
            began, cpu, waits = time.monotonic(), time.process_time(), []
            while time.monotonic() - began < seconds:
                pressed = time.monotonic()
                await pilot.press("space")
                waits.append(time.monotonic() - pressed)
                await asyncio.sleep(0.3)
            spent = (time.process_time() - cpu) / (time.monotonic() - began)
            writer.join()
        print(f"{rate:,} events/s for {seconds:.0f} s, frames {app.frames}")
        print(
            f"  key answered in ms: median {1000 * statistics.median(waits):.0f}, worst {1000 * max(waits):.0f}"
        )
        print(
            f"  CPU {spent:.2f} of a core, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
        )


def memory_and_opening(steps: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        made = folder(scratch, steps)
        made.finish(*LANES)
        began = time.monotonic()
        RunSource(made.path).poll()
        print(f"a finished run of {steps:,} steps: first frame after {time.monotonic() - began:.2f} s")
        tracemalloc.start()
        source = RunSource(made.path)
        source.poll()
        print(f"  memory per step {tracemalloc.get_traced_memory()[0] / steps:.0f} bytes")
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=8)
    args = parser.parse_args()
    memory_and_opening(2_000)
    asyncio.run(busy(args.rate, args.seconds))


if __name__ == "__main__":
    main()
