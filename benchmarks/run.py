"""Whole runs against a server that knows the truth: cost, and how far the reported times are off.

    python -m benchmarks.run [--repeat 3] [--only NAME…] [--with LABEL=COMMAND…] [--peer KIND=COMMAND…]

Everything is on: journal, signals, verdicts, prefix diagnosis, live text. The command is started as a user starts it,
as a whole process, against `stamped_server.c` (compiled here, so a C compiler is needed), which stamps each delta as it
sends it. The server has core 0 (with real-time priority where allowed); the client has all cores, as in use. Rows of
one load are run in turns, so that a busy machine is equally unfair to all; median and worst are printed, and the load.

`--with` adds another command line of replayer (an older version, say: `before="python -m replayer"`), `--peer` another
tool's: vllm (`… bench serve`) or aiperf, where they are installed. Errors are of the time to the first token
and of the time between tokens, each against the server's own, over the turns not marked; `marked` is the share of turns
that a stall of the receiver over 5 ms touched. `us/delta` is CPU of the whole command, start included; `more` is the
CPU of each further delta, from a load of half the turns.
"""

from __future__ import annotations

import argparse
import array
import base64
import json
import os
import re
import resource
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import run_peers
from benchmarks.run_peers import Observed

HERE = Path(__file__).parent
TRACE = "fix-failing-test"
STALL_NS = 5_000_000


@dataclass(frozen=True)
class Load:
    """What the server does, and how it is asked. `gap_us` 0 floods."""

    name: str
    streams: int
    turns: int
    deltas: int
    gap_us: int = 5_000
    first_us: int = 50_000
    lanes: int = 1
    trace: str = TRACE
    traces: tuple[str, ...] = ()
    """In place of `trace`: as many sessions, each of its own."""
    max_turns: int = 1
    """Turns of a session."""
    peers: bool = False
    burst: int = 1
    """Deltas that the server puts in one send."""


LOADS = [
    Load("paced 1", 1, 8, 200),
    Load("paced 16", 16, 96, 200),
    Load("paced 64, short turns that end together", 64, 384, 60, peers=True),
    Load("paced 256, short turns that end together", 256, 1024, 60, peers=True),
    Load("paced 1024 x 50 deltas/s", 1024, 2048, 60, 20_000, 200_000, peers=True),
    Load("paced 16, contexts of 100,000 tokens", 16, 96, 60, trace="long", max_turns=3),
    Load("two lanes x two sessions, 50 tok/s", 4, 16, 60, 20_000, 200_000, lanes=2, max_turns=0),
    Load("flood 1", 1, 64, 512, 0, 0),
    Load("flood 64", 64, 768, 512, 0, 0, peers=True),
    Load("flood 256", 256, 1024, 256, 0, 0),
]


@dataclass
class Row:
    """One run of one client under one load."""

    wall: float
    cpu: float
    load: float
    deltas: int
    turns: int
    marked: int = 0
    ttft_ms: list[float] = field(default_factory=list)
    itl_ms: list[float] = field(default_factory=list)
    true_ttft_ms: list[float] = field(default_factory=list)
    reported_ttft_ms: list[float] = field(default_factory=list)
    exit_code: int = 0


Truth = dict[int, tuple[int, list[int]]]
"""By number: when a request had arrived, and when each delta was sent (ns)."""


class Server:
    """`cpu`: seconds that it took, once it has ended."""

    cpu = 0.0

    def __init__(self, binary: Path, load: Load, folder: Path, core: int = 0) -> None:
        self._log = folder / "truth"
        arguments = [binary, load.first_us, load.gap_us, load.deltas, self._log, load.burst]
        self._process = subprocess.Popen(
            [str(one) for one in arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=partial(_have_core, core),
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"

    def end(self) -> Truth:
        assert self._process.stdin is not None
        self._process.stdin.close()
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode, self.cpu = status, used.ru_utime + used.ru_stime
        data, at, found = self._log.read_bytes(), 0, {}
        while at < len(data):
            number, arrival, count = struct.unpack_from("3q", data, at)
            found[number] = arrival, list(struct.unpack_from(f"{count}q", data, at + 24))
            at += 24 + 8 * count
        return found


def _have_core(core: int) -> None:
    os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))


@dataclass(frozen=True)
class Ran:
    wall: float
    cpu: float
    exit_code: int
    output: str


def whole(command: Sequence[str], environment: dict[str, str] | None = None, timeout: float = 400) -> Ran:
    """Run a command to its end: wall and CPU seconds of it and all its children."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    ours = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**ours, **(environment or {})}
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        output.seek(0)
        text = output.read()
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(wall, cpu, code, text)


def run_replayer(command: Sequence[str], load: Load, url: str, folder: Path) -> tuple[Ran, list[Observed]]:
    traces = load.traces or (str(_long(folder)) if load.trace == "long" else load.trace,)
    repeats = load.turns // (max(load.max_turns, 1) * load.lanes * len(traces))
    given = ["run", *(part for trace in traces for part in ("--trace", trace)), "--plain"]
    given += ["--out", str(folder / "run"), "--max-lag", "60000"]
    given += ["--repeat", str(repeats if load.max_turns else 4)]
    given += ["--concurrency", str(load.streams // load.lanes)]
    given += ["--max-turns", str(load.max_turns)] if load.max_turns else []
    for lane in range(load.lanes):
        given += ["--engine", f"lane{lane}={url},kind=vllm"]
    ran = whole([*command, *given])
    found = list(journalled(folder / "run" / "journal.jsonl"))
    shutil.rmtree(folder / "run", ignore_errors=True)
    return ran, found


def _long(folder: Path) -> Path:
    from tests.generate import long_session

    return long_session(folder / "long.trace.jsonl", turns=3, tokens=100_000, seed=1)


def journalled(path: Path) -> Iterator[Observed]:
    """The turns of a journal. Older ones say `step_finished`."""
    if not path.exists():
        return
    with path.open() as lines:
        for line in lines:
            if '"turn_finished"' not in line[:200] and '"step_finished"' not in line[:200]:
                continue
            event = json.loads(line)
            gaps = array.array("I")
            if event["arrivals"]:
                gaps.frombytes(zlib.decompress(base64.b64decode(event["arrivals"])))
            yield Observed(
                event["content"],
                event["ttft_ns"] / 1e6 if event["ttft_ns"] is not None else None,
                [gap / 1e3 for gap in gaps[1:]],
                event.get("lag_ns", 0) > STALL_NS,
                event["deltas"],
            )


def held_against(truth: Truth, observed: list[Observed], ran: Ran, load: Load) -> Row:
    row = Row(ran.wall, ran.cpu, os.getloadavg()[0], 0, len(observed), exit_code=ran.exit_code)
    for one in observed:
        match = re.match(r"q(\d+) ", one.text)
        if match is None or one.ttft_ms is None:
            continue
        arrival, stamps = truth[int(match[1])]
        row.deltas += len(stamps)
        row.marked += one.marked
        if one.marked:
            continue
        true = (stamps[0] - arrival) / 1e6
        row.true_ttft_ms.append(true)
        row.reported_ttft_ms.append(one.ttft_ms)
        row.ttft_ms.append(abs(one.ttft_ms - true))
        if load.gap_us:
            pairs = zip(one.itl_ms, stamps[1:], stamps, strict=False)
            row.itl_ms += [abs(gap - (after - before) / 1e6) for gap, after, before in pairs]
    if not row.deltas:
        row.deltas = sum(len(stamps) for _, stamps in truth.values())
    return row


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def describe(label: str, rows: list[Row]) -> str:
    """Median, and in brackets the worst of the repeats."""

    def figure(of: list[float], form: str) -> str:
        known = [value for value in of if value == value]
        if not known:
            return "-"
        return f"{statistics.median(known):{form}} ({max(known):{form}})"

    paced = any(row.itl_ms for row in rows)
    cells = [
        f"{label:<12}",
        f"us/delta {figure([row.cpu / row.deltas * 1e6 for row in rows], '.2f'):>16}",
        f"deltas/s {statistics.median(row.deltas / row.wall for row in rows):>9,.0f}",
        f"TTFT off p50 {figure([quantile(row.ttft_ms, 0.5) for row in rows], '.3f')}",
        f"p99 {figure([quantile(row.ttft_ms, 0.99) for row in rows], '.3f')} ms",
    ]
    if paced:
        cells.append(f"ITL off p50 {figure([quantile(row.itl_ms, 0.5) for row in rows], '.3f')}")
        cells.append(f"p99 {figure([quantile(row.itl_ms, 0.99) for row in rows], '.3f')} ms")
    cells.append(f"marked {figure([100 * row.marked / max(row.turns, 1) for row in rows], '.1f')} %")
    cells.append(f"load {max(row.load for row in rows):.1f}")
    codes = {row.exit_code for row in rows} - {0}
    return "  ".join(cells) + (f"  exit {sorted(codes)}" if codes else "")


@contextmanager
def compiled() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "stamped_server")
        subprocess.run(["cc", "-O2", "-o", str(binary), str(HERE / "stamped_server.c")], check=True)
        yield binary


def measure(load: Load, clients: dict[str, Any], repeat: int, binary: Path) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {label: [] for label in clients}
    for _ in range(repeat):
        for label, client in clients.items():
            with tempfile.TemporaryDirectory() as folder:
                server = Server(binary, load, Path(folder))
                ran, observed = client(load, server.url, Path(folder))
                truth = server.end()
            if not truth or not observed:
                print(f"  {label}: nothing measured (exit {ran.exit_code}): {ran.output[-300:]}", flush=True)
                continue
            found[label].append(held_against(truth, observed, ran, load))
    return found


def costs(command: Sequence[str], binary: Path, repeat: int) -> None:
    """The cost sheet: start, a turn, a delta, a turn of a long context behind few and behind many others."""

    def cpu(load: Load) -> float:
        with tempfile.TemporaryDirectory() as folder:
            server = Server(binary, load, Path(folder))
            ran, _ = run_replayer(command, load, server.url, Path(folder))
            server.end()
            return ran.cpu

    start = cpu(Load("start", 1, 1, 1, 0, 0))
    turns = cpu(Load("turns", 16, 512, 1, 0, 0))
    deltas = cpu(Load("deltas", 16, 512, 401, 0, 0))
    print(f"start {start:.2f} s of CPU; each turn {(turns - start) / 512 * 1e3:.2f} ms; ", end="")
    print(f"each further delta {(deltas - turns) / 512 / 400 * 1e6:.2f} us")
    per_turn = defaultdict[int, list[float]](list)
    with tempfile.TemporaryDirectory() as folder:
        # as many turns of each: what a command costs else weighs on the few
        kinds = {count: _equally_long(Path(folder), count, 500 // count) for count in (10, 100, 500)}
        for _ in range(repeat):
            for count, traces in kinds.items():
                few = cpu(Load("long", 1, len(traces), 2, 0, 0, traces=traces))
                every = cpu(Load("long", 1, 500, 2, 0, 0, traces=traces, max_turns=count))
                per_turn[count].append((every - few) / (500 - len(traces)) * 1e3)
    for count, found in per_turn.items():
        print(f"{count:>4} turns to 100,000 tokens: {statistics.median(found):.2f} ms of CPU a turn ", end="")
        print(f"({min(found):.2f} to {max(found):.2f})", flush=True)


def _equally_long(folder: Path, turns: int, sessions: int) -> tuple[str, ...]:
    """Sessions whose last request has 100,000 tokens of four bytes, what stands around its texts included: of many short
    messages that is a third."""
    from replayer.requests.history import RecordedHistory
    from replayer.traces.reader import Trace
    from tests.generate import long_session

    paths, tokens = [folder / f"{turns}-{number}.trace.jsonl" for number in range(sessions)], 100_000
    for number, path in enumerate(paths):
        for _ in range(3):
            history = RecordedHistory(Trace.open(long_session(path, turns=turns, tokens=tokens, seed=number)))
            size = history.request(history.turns[-1], {}).content_length
            if 0.97 < size / 400_000 < 1.03:
                break
            tokens = round(tokens * 400_000 / size)
    return tuple(map(str, paths))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--only", nargs="*", help="loads whose name contains one of these; `costs` is the sheet"
    )
    parser.add_argument("--with", dest="others", nargs="*", default=[], metavar="LABEL=COMMAND")
    parser.add_argument("--peer", nargs="*", default=[], metavar="KIND=COMMAND")
    given = parser.parse_args()
    commands = {"replayer": [sys.executable, "-m", "replayer"]}
    commands |= {label: shlex.split(line) for label, line in (one.split("=", 1) for one in given.others)}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; median (worst) of {given.repeat}")
    with compiled() as binary:
        for load in LOADS:
            if given.only and not any(name in load.name for name in given.only):
                continue
            clients: dict[str, Any] = {
                label: lambda load, url, folder, line=line: run_replayer(line, load, url, folder)
                for label, line in commands.items()
            }
            for kind, line in (one.split("=", 1) for one in given.peer if load.peers):
                clients[kind] = lambda load, url, folder, kind=kind, line=line: run_peers.run(
                    kind, shlex.split(line), load, url, folder, whole
                )
            print(f"{load.name}: {load.turns} turns of {load.deltas} deltas", flush=True)
            for label, rows in measure(load, clients, given.repeat, binary).items():
                if rows:
                    print("  " + describe(label, rows), flush=True)
        if not given.only or "costs" in given.only:
            for label, line in commands.items():
                print(label)
                costs(line, binary, given.repeat)


if __name__ == "__main__":
    main()
