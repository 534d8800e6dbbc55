"""What a run of 100,000 turns costs afterwards: `report`, `compare`, opening it on the screen, and the screen left alone.

    python -m benchmarks.large_run [--turns 100000] [--keep FOLDER]

A short real run of two simulated lanes is multiplied: its sessions are written again and again as further repeats.
Goals: report and compare under 10 s and 500 MB, the screen within 2 s, nothing written by an idle finished screen and
under 1 % of a core. Times are wall and CPU; the load is printed, since others may be at work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.pty_screen import PtyScreen
from replayer.journal.events import AnyEvent, RunFinished, RunStarted, SessionStarted
from replayer.journal.lines import encoded, seal
from replayer.journal.log import JOURNAL, read

TRACE = "fix-failing-test"
REPEATS = 6
REPLAYER = (sys.executable, "-m", "replayer")
IDLE_S = 20


def real_run(folder: Path) -> None:
    lanes = [f"{name}=simulated,ttft_ms=1,tok_s=10000,fault=unknown_tool@0.1" for name in ("a", "b")]
    engines = [part for lane in lanes for part in ("--engine", lane)]
    command = [*REPLAYER, "run", "--trace", TRACE, *engines, "--repeat", str(REPEATS), "--out", str(folder)]
    subprocess.run([*command, "--plain", "--max-lag", "60000"], check=True, capture_output=True)


def multiply(folder: Path, turns: int) -> int:
    """Write the run's sessions as further repeats until there are so many turns."""
    events = list(read(folder))
    sessions: dict[str, list[AnyEvent]] = defaultdict(list)
    for event in events:
        if name := getattr(event, "session", None):
            sessions[name].append(event)
    first = min(events.index(one[0]) for one in sessions.values())
    a_round = sum(event.type == "turn_finished" for one in sessions.values() for event in one)
    rounds = -(-turns // a_round)
    with (folder / JOURNAL).open("wb") as journal:
        number = 0

        def write(event: AnyEvent, **changes: Any) -> None:
            nonlocal number
            number += 1
            journal.write(seal(number, encoded(event.model_copy(update=changes))))

        for event in events[:first]:
            plan = (
                {"plan": {**event.plan, "repeat": REPEATS * rounds}} if isinstance(event, RunStarted) else {}
            )
            write(event, **plan)
        length = events[-1].at
        for again in range(rounds):
            for name, one in sessions.items():
                lane, trace, repeat = name.rsplit("/", 2)
                number_of = int(repeat) + again * REPEATS
                for event in one:
                    changes = {"repeat": number_of} if isinstance(event, SessionStarted) else {}
                    name = f"{lane}/{trace}/{number_of}"
                    write(event, session=name, at=event.at + again * length, **changes)
        for event in events[first:]:
            if isinstance(event, RunFinished):
                write(event, at=rounds * length)
    return rounds * a_round


def measured(name: str, *arguments: str) -> None:
    """Peak memory is that of the largest process so far: run in a process of its own."""
    code = (
        "import resource, subprocess, sys, time; began = time.monotonic();"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(f'{time.monotonic() - began:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, '"
        "f'{used.ru_maxrss / 1024:.0f} MB, exit {done.returncode}')"
    )
    command = [sys.executable, "-c", code, *REPLAYER, *arguments]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(f"{name}: {found.strip()} (load {os.getloadavg()[0]:.1f})", flush=True)


def screen(folder: Path) -> None:
    began = time.monotonic()
    shown = PtyScreen([*REPLAYER, "watch", str(folder)])
    try:
        shown.wait_for("usable turns")
        print(f"watch: {time.monotonic() - began:.1f} s to the first picture, {shown.cpu():.1f} s of CPU")
        _settle(shown)
        print(f"  settled after {time.monotonic() - began:.1f} s, {shown.cpu():.1f} s of CPU")
        written, cpu = shown.written, shown.cpu()
        time.sleep(IDLE_S)
        share = 100 * (shown.cpu() - cpu) / IDLE_S
        print(f"  left alone for {IDLE_S} s: {shown.written - written} bytes, {share:.2f} % of a core")
        print(f"  {shown.memory_mb():.0f} MB")
    finally:
        shown.close()


def _settle(shown: PtyScreen) -> None:
    """Until three seconds cost next to nothing: a long journal is read in pieces of seconds."""
    before = -1.0
    while shown.cpu() - before > 0.3:
        before = shown.cpu()
        time.sleep(3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="make the run here, or measure the one that is here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch) / "run"
        if not (folder / JOURNAL).exists():
            real_run(folder)
            turns = multiply(folder, given.turns)
            print(f"{turns:,} turns, {(folder / JOURNAL).stat().st_size / 1e6:.0f} MB")
        measured("report", "report", str(folder), "--json")
        measured("compare", "compare", str(folder), "--json")
        screen(folder)


if __name__ == "__main__":
    main()
