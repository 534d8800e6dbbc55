"""Whether an open screen shifts what a run measures: 64 streams of 5 ms between tokens, with and without it.

    python -m benchmarks.tui_shift [--runs 10]

Runs without and with the screen take turns. The screen is a process of its own on a real pseudo-terminal. The engine
(benchmarks/wire_server.py) stands for one on another machine: it gets a real-time priority where that is allowed. A figure
holds where the shift of its median over the runs lies within the 95th percentile of the differences between any two
runs without the screen.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.pty_screen import PtyScreen
from replayer.journal.events import TurnFinished
from replayer.journal.log import JOURNAL, read
from replayer.journal.packing import gaps_us
from replayer.metrics.stats import quantile

STREAMS, SESSIONS, TURNS = 64, 128, 4
RUN = [
    sys.executable, "-m", "replayer", "run", "--trace", "fix-failing-test", "--max-turns", str(TURNS),
    "--concurrency", str(STREAMS), "--repeat", str(SESSIONS), "--max-lag", "60000", "--json",
]  # fmt: skip
PACE = {"deltas": 100, "gap_us": 5_000, "first_us": 50_000}

Figures = dict[str, float]
SCREEN = "screen CPU s"


def figures(folder: Path) -> Figures:
    """Milliseconds, over all turns of a run and all gaps between its deltas."""
    turns = [event for event in read(folder) if isinstance(event, TurnFinished)]
    first = sorted(turn.ttft_ns / 1e6 for turn in turns if turn.ttft_ns is not None)
    gaps = sorted(gap / 1e3 for turn in turns for gap in gaps_us(turn.arrivals)[1:])
    return {
        f"{name} p{share}": quantile(values, share / 100) or 0.0
        for name, values in (("first token", first), ("between tokens", gaps))
        for share in (50, 95)
    }


@contextmanager
def engine() -> Iterator[str]:
    """The URL of a server that streams `PACE`."""
    command = [sys.executable, str(Path(__file__).with_name("wire_server.py")), "", json.dumps(PACE)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    with suppress(PermissionError):
        os.sched_setscheduler(child.pid, os.SCHED_FIFO, os.sched_param(10))
    try:
        yield f"http://127.0.0.1:{int(child.stdout.readline())}/v1"
    finally:
        child.stdin.close()
        child.wait()


def run(url: str, folder: Path, *, watched: bool) -> Figures:
    """With the screen's own seconds of processor time, which show that it was there."""
    command = [*RUN, "--engine", f"engine={url},model=smollm2", "--out", str(folder)]
    runner = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    screen = None
    if watched:
        while not (folder / JOURNAL).exists() and runner.poll() is None:
            os.sched_yield()
        screen = PtyScreen([sys.executable, "-m", "replayer", "watch", str(folder)])
    _, said = runner.communicate()
    worked = 0.0
    if screen is not None:
        worked = screen.cpu()
        screen.close()
    if runner.returncode:
        raise SystemExit(said.decode())
    return figures(folder) | {SCREEN: worked}


def shift(name: str, without: Sequence[Figures], watched: Sequence[Figures]) -> str:
    alone, seen = [run[name] for run in without], [run[name] for run in watched]
    moved = statistics.median(seen) - statistics.median(alone)
    among = quantile(sorted(abs(a - b) for a, b in itertools.combinations(alone, 2)), 0.95) or 0.0
    verdict = "within" if abs(moved) <= among else "BEYOND"
    return (
        f"  {name:18} {statistics.median(alone):8.3f} ms without, {statistics.median(seen):8.3f} ms with: "
        f"shift {moved:+.3f} ms, {verdict} {among:.3f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="with the screen, and as many without")
    args = parser.parse_args()
    before = os.getloadavg()[0]
    found: dict[bool, list[Figures]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as scratch, engine() as url:
        for number, watched in itertools.product(range(args.runs), (False, True)):
            found[watched].append(run(url, Path(scratch) / f"{number}-{watched}", watched=watched))
    print(
        f"{args.runs} runs without the screen and {args.runs} with it, {STREAMS} streams of 5 ms between tokens"
    )
    for name in sorted(found[False][0].keys() - {SCREEN}):
        print(shift(name, found[False], found[True]))
    print(
        f"  the screen used {statistics.median(run[SCREEN] for run in found[True]):.1f} s of a core in each run"
    )
    print(f"load average before {before:.1f}, after {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
