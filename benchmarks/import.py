"""Importing JSON-lines recordings: MB/s on one core, and how much memory it takes as the file grows.

    PYTHONPATH=. python benchmarks/import.py [--mb 60] [--runs 3]

The files are made from small sessions of each format, repeated with new ids until they have the size. Seconds are
CPU (user and system) of the import alone; each run is a process of its own, and MB/s are those of the median run,
with those of the slowest and the fastest beside it. MiB is the peak of resident memory, 25 of which are Python and
the libraries. The last column, parsing alone by orjson at its best, tells a slow importer from a slow machine.
Goal: at least 60 MB/s for JSON-lines formats; memory bounded.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from replayer.traces.convert import convert
from tests.traces import samples as made

TEXT = (
    "the parser reads a token and returns None when the input ends; callers check that before they use it.\n"
    * 60
)


def claude() -> Iterator[dict[str, Any]]:
    """A session of rounds (reply, call, result) that is never compacted: every prompt holds all rounds before it."""
    parent: str | None = None
    for number in range(10**9):
        ids = [f"{number}-{n}" for n in range(4)]
        yield made.claude_user(ids[0], parent, 0, f"round {number}")
        thinking = {"type": "thinking", "thinking": TEXT[:400], "signature": "s" * 300}
        yield made.claude_block(ids[1], ids[0], 1, f"m{number}", thinking)
        yield made.claude_block(ids[2], ids[1], 2, f"m{number}", made.claude_call(f"t{number}"))
        result = made.claude_result(f"t{number}", f"{number}\n{TEXT}")
        yield made.claude_user(ids[3], ids[2], 3, result, toolUseResult={"stdout": TEXT[:2000]})
        parent = ids[3]


def codex() -> Iterator[dict[str, Any]]:
    yield from made.codex_session()[:4]
    total = 1000
    for number in range(10**9):
        total += 10
        call = made.codex_call(f"c{number}")
        output = {"type": "function_call_output", "call_id": f"c{number}", "output": f"{number}\n{TEXT}"}
        last = {"input_tokens": total, "cached_input_tokens": 0, "output_tokens": 9}
        count = {
            "type": "token_count",
            "info": {"total_token_usage": {"total": total}, "last_token_usage": last},
        }
        for kind, payload in (("response_item", call), ("response_item", output), ("event_msg", count)):
            yield {"timestamp": "2026-06-26T12:00:00.000Z", "type": kind, "payload": payload}
        if number % 40 == 39:
            history = [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on"}]}
            ]
            yield {"type": "compacted", "payload": {"message": "", "replacement_history": history}}


def chat_log() -> Iterator[dict[str, Any]]:
    """Requests that repeat their whole history, as logs do: 30 turns a conversation."""
    for number in range(10**9):
        messages = [*made.ASK[:1], {"role": "user", "content": f"conversation {number}\n{TEXT}"}]
        for turn in range(30):
            reply = {**made.CALLING, "content": f"turn {turn}"}
            yield {"request": made.request(messages), "response": made.completion(reply, 10)}
            messages = [*messages, reply, {**made.ANSWER, "content": f"{turn}\n{TEXT[:1500]}"}]


def mooncake() -> Iterator[dict[str, Any]]:
    """Conversations of six requests that share their first ten blocks; an id stands for all blocks up to it."""
    fresh = count(10)
    for number in range(10**9):
        hashes = list(range(10))
        for turn in range(6):
            hashes = [*hashes, *islice(fresh, 14)]
            at = 1000 * (number + turn)
            length = len(hashes) * 512
            yield {"timestamp": at, "input_length": length, "output_length": 20, "hash_ids": hashes}


FORMATS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "claude-code": claude,
    "codex": codex,
    "openai-log": chat_log,
    "mooncake": mooncake,
}


def write(path: Path, records: Iterator[dict[str, Any]], megabytes: float) -> None:
    size = 0
    with path.open("wb") as file:
        for record in records:
            line = orjson.dumps(record) + b"\n"
            file.write(line)
            size += len(line)
            if size > megabytes * 1e6:
                return


def measure(path: Path) -> tuple[float, float]:
    """Seconds of CPU and MiB of resident memory at its peak, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(path)], capture_output=True, text=True, check=True
    )
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def bare(path: Path) -> float:
    """Seconds of CPU that parsing alone takes, to tell a slow importer from a slow machine."""
    begin = time.process_time()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.process_time() - begin


def one(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        for outcome in convert(path, Path(folder)):
            if isinstance(outcome, Exception):
                raise outcome
        taken = time.process_time() - begin
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    print(taken, int(peak.split()[1]) / 1024)


def report(name: str, path: Path, runs: int) -> None:
    measured = [measure(path) for _ in range(runs)]
    size = path.stat().st_size / 1e6
    seconds = sorted(taken for taken, _ in measured)
    middle, slowest, fastest = (size / taken for taken in (median(seconds), seconds[-1], seconds[0]))
    parsing = size / min(bare(path) for _ in range(runs))
    print(
        f"{name:<12} {size:>5.0f} MB {median(seconds):>7.2f} {middle:>7.0f} {slowest:>5.0f} to {fastest:<4.0f}"
        f"{max(memory for _, memory in measured):>9.0f} {parsing:>12.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=60)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one)
        return
    print(
        f"{'format':<12} {'file':>8} {'CPU s':>7} {'MB/s':>7} {'(worst, best)':>13} {'peak MiB':>9} {'orjson MB/s':>12}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, records in FORMATS.items():
            for size in (given.mb / 4, given.mb):
                path = Path(folder) / f"{name}.jsonl"
                write(path, records(), size)
                report(name, path, given.runs)


if __name__ == "__main__":
    main()
