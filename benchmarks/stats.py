"""Type I error and power of what the command line says and gates: real `run` and `compare`, simulated engines over HTTP.

A pair is one `replayer run` of two lanes on two engines, with gates on changes, and one `replayer compare` of it. Of equal
engines, a pair errs where any output says better or worse, or a gate breaks. Every run has sampling seeds of its own, so
that faults are drawn anew; sessions are of a few turns, so that thousands of runs fit into minutes. With repeats on, the
same sessions are replayed again. Prints by row the share of pairs that err with its Wilson interval, then the number of
sessions that a pilot run recommends to see 5 points, and how often runs of that size find 5 points that were planted.

    python -m benchmarks.stats [PAIRS_PER_ROW] [--power PAIRS] [--workers N] [--only SESSIONSxREPEATS]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from replayer.cli import main as command
from replayer.metrics.stats import wilson
from replayer.simulated import SimulatedSpec, launch
from tests.generate import long_session

SESSIONS = (1, 2, 5, 6, 8, 20)
REPEATS = (1, 5)
TURNS, POWER_TURNS = 2, 8
NOISE = 0.15
"""Share of turns that are cut, on both lanes: a fault that any reply can have."""
PLANTED = 0.05
PILOT = 12
"""Sessions of the run that recommends a size."""
GATES = (
    "usable_turn_rate drops by > 0.02",
    "collapsed_rate rises by > 0.02",
    "ttft_ms.p95 rises by > 1",
    "decode_tok_s drops by > 10",
)
_CLAIM = re.compile(r"is (better|worse) than|differs from itself")


@dataclass(frozen=True, slots=True)
class Case:
    """One pair: `worse` is what lane b breaks more often."""

    number: int
    sessions: int
    repeats: int
    turns: int = TURNS
    worse: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    claims: tuple[str, ...]
    gated: bool
    needed: int | None
    found: bool


class Engines:
    """Simulated engines of this worker, by fault rate and lane; they live as long as it does."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self._urls: dict[tuple[str, float], str] = {}

    def url(self, lane: str, rate: float) -> str:
        if (lane, rate) not in self._urls:
            spec = SimulatedSpec.from_options({"fault": [f"truncated@{rate:g}"], "seed": ord(lane)})
            server = asyncio.run_coroutine_threadsafe(launch(spec), self.loop).result(60)
            self._urls[lane, rate] = server.base_url
        return self._urls[lane, rate]


_ENGINES: Engines | None = None


def traces(folder: Path, turns: int, count: int) -> list[Path]:
    """Short sessions, made once per worker."""
    made = folder / f"traces-{os.getpid()}-{turns}"
    made.mkdir(exist_ok=True)
    paths = [made / f"s{number:03}.trace.jsonl" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            long_session(path, turns=turns, tokens=700, seed=number)
    return paths


def _metric(claim: str) -> str:
    """Which figure a claim is of, and for which lane it speaks."""
    found = re.search(r"is (better|worse) than \w+ in ([^:]+)", claim)
    return f"{found[2]} (b {found[1]})" if found else claim


def written(out: io.TextIOWrapper) -> bytes:
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    return out.buffer.getvalue()


def replayer(*arguments: str) -> tuple[int, dict[str, Any]]:
    """A command as the shell gives it; its exit code and its JSON."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = command(list(arguments))
    return code, json.loads(written(out))


def pair(case: Case, scratch: Path) -> Outcome:
    global _ENGINES
    _ENGINES = _ENGINES or Engines()
    folder = scratch / f"run-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    lanes = {
        lane: f"{lane}={_ENGINES.url(lane, rate)},seed={case.number * 2 + number}"
        for number, (lane, rate) in enumerate((("a", NOISE), ("b", NOISE + case.worse)))
    }
    words = [word for path in traces(scratch, case.turns, case.sessions) for word in ("--trace", str(path))]
    words += [word for spec in lanes.values() for word in ("--engine", spec)]
    words += [word for gate in GATES for word in ("--fail-if", gate)]
    code, report = replayer(
        "run", *words, "--repeat", str(case.repeats), "--out", str(folder), "--json", "--max-lag", "60000",
        "--set", "telemetry_interval=60",
    )  # fmt: skip
    _, compared = replayer("compare", str(folder), "--json")
    said = [one["words"] for document in (report, compared) for one in _pairs(document)]
    primary = next(one for one in compared["pairs"] if one["metric"] == "usable_turn_rate")
    return Outcome(
        claims=tuple(words for words in said if _CLAIM.search(words)),
        gated=code != 0,
        needed=primary["needed"] if primary["needed_unit"] == "such sessions" else None,
        found=primary["decided"] and primary["difference"] < 0,
    )


def _pairs(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document["conclusions"]
    pairs: list[dict[str, Any]] = found if isinstance(found, list) else found["pairs"]
    return pairs


def row(pool: ProcessPoolExecutor, cases: list[Case], scratch: Path) -> list[Outcome]:
    return list(pool.map(pair, cases, [scratch] * len(cases), chunksize=4))


def share(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"{count:4} of {of} = {count / of:6.1%}  [{low:.1%}, {high:.1%}]"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="?", type=int, default=500)
    parser.add_argument("--power", type=int, default=100, metavar="PAIRS")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", metavar="SESSIONSxREPEATS", action="append")
    args = parser.parse_args()
    began = time.perf_counter()
    print(
        f"{args.pairs} pairs a row, {TURNS} turns a session, {NOISE:.0%} of the turns cut on both lanes; gates: {GATES}"
    )
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(args.workers) as pool:
        scratch, number = Path(name), 0
        print(
            "\ntype I error: the engines are equal\nsessions x repeats   said or gated                 said  gated"
        )
        for count in SESSIONS:
            for repeats in REPEATS:
                if args.only and f"{count}x{repeats}" not in args.only:
                    continue
                cases = [Case(number + at, count, repeats) for at in range(args.pairs)]
                number += args.pairs
                found = row(pool, cases, scratch)
                said, gated = sum(bool(one.claims) for one in found), sum(one.gated for one in found)
                wrong = sum(bool(one.claims) or one.gated for one in found)
                print(f"{count:8} x {repeats}     {share(wrong, args.pairs)}  {said:5} {gated:6}", flush=True)
                claimed = Counter(name for one in found for name in {_metric(words) for words in one.claims})
                for name, times in claimed.most_common():
                    print(f"      {times} pairs claim a difference in {name}", flush=True)
        if args.power:
            power(pool, args.power, number, scratch)
    print(f"\n{time.perf_counter() - began:.0f} s")


def power(pool: ProcessPoolExecutor, pairs: int, number: int, scratch: Path) -> None:
    pilots = row(pool, [Case(number + at, PILOT, 1, POWER_TURNS) for at in range(20)], scratch)
    sizes = [one.needed for one in pilots if one.needed is not None]
    size = round(median(sizes))
    print(
        f"\nrecommended by {len(sizes)} pilot runs of {PILOT} sessions, {POWER_TURNS} turns each, to see 5 points:"
    )
    print(f"   {min(sizes)} to {max(sizes)} sessions, median {size}")
    number += 20
    cases = [Case(number + at, size, 1, POWER_TURNS, PLANTED) for at in range(pairs)]
    found = row(pool, cases, scratch)
    print(
        f"power for a planted {-PLANTED:+.0%} at {size} sessions: {share(sum(one.found for one in found), pairs)}"
    )


if __name__ == "__main__":
    main()
