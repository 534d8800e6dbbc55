"""What more processes bring: deltas a second and the error of TTFT, by servers that stamp what they send.

    python -m benchmarks.processes [--counts 1 2 4 8] [--only flood|paced] [--streams 256] [--longer 1] [--apart]

Each row is one `replayer run --processes N` against N servers (`stamped_server.c`), a lane each: with N servers and N shards,
each of two processes, a machine needs 3 x N cores. A flood comes eight deltas a send: one by one, the server would be the
ceiling (`busiest server` says how near it was). Rates are by the servers' own stamps, from the first delta to the last; `of
ideal` is the rate over N times that of the first row. `--longer` multiplies the turns: a
flood of a second is mostly its beginning and its end. `--apart` sets beside each row N runs of one process that share nothing but
the machine: what is lost there is lost to the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.run import Load, Server, Truth, compiled, quantile, whole
from replayer.journal.events import TurnFinished
from replayer.journal.log import read

TRACE = "fix-failing-test"


def loads(streams: int, longer: int = 1) -> list[Load]:
    """By server; `paced` sends 50 deltas a second on each stream."""
    return [
        Load("flood", streams // 4, streams * longer, 512, 0, 0, burst=8),
        Load("paced", streams, 2 * streams * longer, 100, 20_000, 200_000),
    ]


@dataclass(frozen=True)
class Row:
    """Deltas a second, errors of TTFT in ms, and shares in percent: turns marked, a core by the busiest server."""

    rate: float
    errors: list[float]
    marked: int
    server: int


def row(load: Load, n: int, binary: Path, core: int = 0) -> Row:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folders = [folder / str(number) for number in range(n)]
        for one in folders:
            one.mkdir()
        servers = [Server(binary, load, one, place) for place, one in enumerate(folders, core)]
        given = ["run", "--trace", TRACE, "--max-turns", "1", "--repeat", str(load.turns), "--json"]
        given += ["--concurrency", str(load.streams), "--processes", str(n), "--max-lag", "60000"]
        for number, server in enumerate(servers):
            given += ["--engine", f"lane{number}={server.url},kind=vllm"]
        ran = whole([sys.executable, "-m", "replayer", *given, "--out", str(folder / "run")])
        truths = [server.end() for server in servers]
        if ran.exit_code not in (0, 1):
            sys.exit(ran.output)
        turns = [event for event in read(folder / "run") if isinstance(event, TurnFinished)]
        kept = [turn for turn in turns if not turn.busy and turn.lag_ns <= 5_000_000]
        rate, seconds = _rate([_sent(turn, truths) for turn in turns])
        marked = 100 * (len(turns) - len(kept)) // len(turns)
        busiest = round(100 * max(server.cpu for server in servers) / seconds)
        return Row(rate, [_error(turn, truths) for turn in kept], marked, busiest)


def apart(load: Load, n: int, binary: Path) -> Row:
    """As `row`, of `n` runs of one process at the same time; their rates are added up."""
    with ThreadPoolExecutor(n) as pool:
        runs = list(pool.map(lambda core: row(load, 1, binary, core), range(n)))
    errors = [off for one in runs for off in one.errors]
    return Row(
        sum(one.rate for one in runs),
        errors,
        max(one.marked for one in runs),
        max(one.server for one in runs),
    )


def show(name: str, count: str, ideal: float, row: Row) -> None:
    off = f"{quantile(row.errors, 0.5):.3f} / {quantile(row.errors, 0.99):.3f}"
    shares = f"{row.marked} % | {row.server} %"
    print(f"| {name} | {count} | {row.rate:,.0f} | {row.rate / ideal:.2f} | {off} | {shares} |", flush=True)


def _rate(replies: list[tuple[int, list[int]]]) -> tuple[float, float]:
    """And the seconds that it took, of what the run asked for in turns: a server is warmed up before, while the processes still open what they need."""
    first, last = min(sent[0] for _, sent in replies), max(sent[-1] for _, sent in replies)
    seconds = (last - first) / 1e9
    return sum(len(sent) for _, sent in replies) / seconds, seconds


def _sent(turn: TurnFinished, truths: list[Truth]) -> tuple[int, list[int]]:
    """When its request arrived and its deltas were sent, by its server's clock."""
    lane = int(turn.session.partition("/")[0].removeprefix("lane"))
    return truths[lane][int(turn.content.partition(" ")[0].removeprefix("q"))]


def _error(turn: TurnFinished, truths: list[Truth]) -> float:
    arrival, sent = _sent(turn, truths)
    return abs((turn.ttft_ns or 0) - (sent[0] - arrival)) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--only", nargs="*", default=["flood", "paced"])
    parser.add_argument("--streams", type=int, default=256, help="paced streams of each server")
    parser.add_argument("--longer", type=int, default=1, help="times as many turns")
    parser.add_argument(
        "--apart", action="store_true", help="beside each row, as many runs that share nothing"
    )
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(
        "| load | processes | deltas/s | of ideal | TTFT off p50 / p99 ms | marked | busiest server |"
        "\n|---|---|---|---|---|---|---|"
    )
    with compiled() as binary:
        for load in loads(given.streams, given.longer):
            single = 0.0
            for n in given.counts if load.name in given.only else ():
                one = row(load, n, binary)
                single = single or one.rate / n
                show(load.name, str(n), n * single, one)
                if given.apart and n > 1:
                    show(load.name, f"{n} runs", n * single, apart(load, n, binary))


if __name__ == "__main__":
    main()
