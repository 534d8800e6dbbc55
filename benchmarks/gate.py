"""How often `replayer gate` is red: on equal engines, on an engine with a fault rate that its margin allows, and on one
that breaks 2 % of its turns, at the size that `gate init` recommends. Real commands, simulated engines over HTTP.

    python -m benchmarks.gate [GATES] [--power GATES] [--workers N]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.stats import Engines, share, traces, written
from replayer.cli import main as command

NOISE, PLANTED, ALLOWED = 0.03, 0.02, 0.05
"""Share of turns that are cut: on every engine, more of them on a worse one, and what a wide margin allows."""
TURNS = 10
PER_BASELINE = 25
_ENGINES: Engines | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A baseline, and gates against it."""

    number: int
    gates: int
    sessions: int
    worse: float
    margin: str | None = None
    times: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    red: int
    gates: int
    claims: tuple[str, ...]
    needed: int


def replayer(*words: str) -> tuple[int, dict[str, Any]]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(list(words))
    if not written(out):
        raise RuntimeError(f"exit {code} of {words[:6]}: {err.getvalue()[-200:]}")
    return code, json.loads(written(out))


def gates(job: Job, scratch: Path) -> Outcome:
    global _ENGINES
    _ENGINES = _ENGINES or Engines()
    files = traces(scratch, TURNS, job.sessions)
    asked = [word for path in files for word in ("--trace", str(path))]
    asked += [
        "--max-lag",
        "60000",
        "--set",
        "telemetry_interval=60",
        "--json",
        *([] if job.times else ["--no-times"]),
    ]
    file, seed = scratch / f"gate-{os.getpid()}.json", job.number * 1000

    def run(*words: str, rate: float, number: int) -> tuple[int, dict[str, Any]]:
        folder = scratch / f"gate-run-{os.getpid()}"
        for old in scratch.glob(f"{folder.name}*"):
            shutil.rmtree(old)
        engine = f"a={_ENGINES.url('a', rate)},seed={seed + number}"
        return replayer(
            "gate", *words, "--against", str(file), "--out", str(folder), "--engine", engine, *asked
        )

    _, made = run("init", rate=NOISE, number=0)
    red, claims = 0, []
    for number in range(1, job.gates + 1):
        margin = ("--margin", job.margin) if job.margin else ()
        code, found = run(*margin, rate=NOISE + job.worse, number=number)
        red += code == 1
        claims += found["broken"]
    return Outcome(red, job.gates, tuple(claims), made["sizes"]["a"]["needed_sessions"])


def row(pool: ProcessPoolExecutor, title: str, jobs: list[Job], scratch: Path) -> list[Outcome]:
    found = list(pool.map(gates, jobs, [scratch] * len(jobs)))
    print(
        f"{title:64} red {share(sum(one.red for one in found), sum(one.gates for one in found))}", flush=True
    )
    for words in sorted({words for one in found for words in one.claims})[:3]:
        print(f"      {words}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gates", nargs="?", type=int, default=500)
    parser.add_argument("--power", type=int, default=100, metavar="GATES")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(args.workers) as pool:
        scratch = Path(name)

        def jobs(count: int, first: int, sessions: int, worse: float, margin: str | None = None) -> list[Job]:
            """Of a planted fault only the rates are asked for: they do not wait for times."""
            each = max(1, min(PER_BASELINE, count // 20))
            how = Job(0, each, sessions, worse, margin, times=not worse)
            return [replace(how, number=first + at) for at in range(max(1, count // each))]

        for sessions in (6, 12):
            row(
                pool,
                f"equal, {sessions} sessions of {TURNS} turns",
                jobs(args.gates // 2, sessions, sessions, 0.0),
                scratch,
            )
        pilot = row(pool, "equal, 20 sessions", jobs(20, 100, 20, 0.0), scratch)
        needed = sorted(one.needed for one in pilot)
        size = needed[len(needed) // 2]
        print(f"recommended: {needed[0]} to {needed[-1]} sessions of {TURNS} turns, median {size}")
        row(
            pool,
            f"{PLANTED:.0%} of the turns worse, {size} sessions",
            jobs(args.power, 200, size, PLANTED),
            scratch,
        )
        allowed = f"usable_turn_rate={ALLOWED * 100:g}"
        row(
            pool,
            f"the same, with --margin {allowed}",
            jobs(max(1, args.power // 3), 300, size, PLANTED, allowed),
            scratch,
        )


if __name__ == "__main__":
    main()
