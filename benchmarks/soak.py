"""A soak: a simulated engine, the recorder before it, a run through it under load, and a screen on the run.

`python -m benchmarks.soak SECONDS [SESSIONS [TOKENS_PER_S]]` prints the resident memory, open files and threads of each process every
tenth of the time, and what each grew by after the first quarter, in per cent and for 1,000 turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pty_screen import PtyScreen

REPLAYER = [sys.executable, "-m", "replayer"]
_PARTS = 20


@dataclass(frozen=True)
class Held:
    """What a process holds: MiB in memory, open files, threads."""

    mib: float
    files: int
    threads: int


def held(pid: int) -> Held:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    value = {
        name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines) if rest.split()
    }
    return Held(int(value["VmRSS"]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(value["Threads"]))


def family(name: str, pid: int) -> Iterator[tuple[str, int]]:
    """A process and its children, by place."""
    yield name, pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for place, child in enumerate(children):
        yield from family(f"{name}.{place}", int(child))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def await_port(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


def start(folder: Path, seconds: float, sessions: int, speed: str) -> dict[str, subprocess.Popen[bytes]]:
    engine, proxy = free_port(), free_port()
    traces = ("first-look", "fix-failing-test")
    played = [word for trace in traces for word in ("--trace", trace)]
    commands = {
        "engine": ["simulate", "--port", str(engine), "--tok-s", speed, "--ttft-ms", "5", *played],
        "record": ["record", "--upstream", f"http://127.0.0.1:{engine}/v1", "--port", str(proxy), "-o", str(folder / "recorded")],
        "run": ["run", *played, "--engine", f"a=http://127.0.0.1:{proxy}/v1,kind=vllm", "--engine", f"b=http://127.0.0.1:{engine}/v1,kind=vllm",
                "--sessions", str(sessions), "--duration", str(seconds + 60), "--plain", "--out", str(folder / "run")],
    }  # fmt: skip
    processes = {}
    for (name, words), port in zip(commands.items(), (engine, proxy, 0), strict=True):
        with (folder / f"{name}.log").open("wb") as log:
            processes[name] = subprocess.Popen([*REPLAYER, *words], stdout=log, stderr=log)
        if port:
            await_port(port)
    return processes


def turns(folder: Path) -> int:
    with (folder / "run/journal.jsonl").open("rb") as journal:
        return sum(b'"type":"turn_finished"' in line for line in journal)


def main() -> None:
    seconds, sessions, speed = float(sys.argv[1]), *(sys.argv[2:] + ["6", "2000"][len(sys.argv) - 2 :])
    folder = Path(tempfile.mkdtemp(prefix="replayer-soak-"))
    processes = start(folder, seconds, int(sessions), speed)
    while not (folder / "run/journal.jsonl").exists():
        time.sleep(0.2)
    screen = PtyScreen([*REPLAYER, "watch", str(folder / "run")])
    roots = {
        **{name: process.pid for name, process in processes.items() if name != "engine"},
        "watch": screen.process.pid,
    }
    seen: list[tuple[int, dict[str, Held]]] = []
    for part in range(_PARTS):
        time.sleep(seconds / _PARTS)
        if processes["run"].poll() is not None:
            break
        now = {name: held(pid) for root, top in roots.items() for name, pid in family(root, top)}
        seen.append((turns(folder), now))
        print(
            f"{(part + 1) / _PARTS:.0%}",
            seen[-1][0],
            "turns",
            {n: (round(h.mib, 1), h.files, h.threads) for n, h in now.items()},
            flush=True,
        )
    print_growth(seen)
    for pid in (screen.process.pid, *(process.pid for process in processes.values())):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT if pid != screen.process.pid else signal.SIGTERM)
    print(folder)


def print_growth(seen: list[tuple[int, dict[str, Held]]]) -> None:
    (before, first), (after, last) = seen[len(seen) // 4], seen[-1]
    for name, then in first.items():
        if name in last:
            grown = last[name].mib - then.mib
            each = grown / max(after - before, 1) * 1000
            print(json.dumps({"process": name, "mib": round(then.mib, 1), "grown": round(grown, 2),
                              "percent": round(100 * grown / then.mib, 1), "mib_per_1000_turns": round(each, 3)}))  # fmt: skip


if __name__ == "__main__":
    main()
