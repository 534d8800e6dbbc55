"""Reading a trace beside bare `orjson.loads` per line: MB/s, and the memory of the index as the file grows.

    PYTHONPATH=. python benchmarks/trace_load.py [--mb 100]

Goal: records() at least half of orjson.loads per line; anonymous memory that does not grow with the file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from replayer.traces.reader import Trace, records
from tests.generate import long_session


def bare(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)


def stream(path: Path) -> None:
    for _ in records(path):
        pass


def index(path: Path) -> None:
    Trace.open(path).close()


def best(action: Callable[[Path], None], path: Path, times: int = 3) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        action(path)
        taken.append(time.perf_counter() - begin)
    return min(taken)


def anonymous_memory(action: str, path: Path) -> float:
    """MiB of anonymous memory that a fresh process gains by one action."""
    code = (
        "import sys; from pathlib import Path; import benchmarks.trace_load as b\n"
        "anon = lambda: int(next(l for l in open('/proc/self/status') if l.startswith('RssAnon')).split()[1])\n"
        "before = anon(); getattr(b, sys.argv[1])(Path(sys.argv[2])); print((anon() - before) / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, action, str(path)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=100)
    megabytes = parser.parse_args().mb
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'file':>10} {'reader':<22} {'MB/s':>8} {'of bare':>8} {'MiB anon':>9}")
        for size in (megabytes // 10, megabytes):
            for suffix in ("", ".zst"):
                path = Path(folder) / f"{size}.jsonl{suffix}"
                long_session(path, turns=size * 25, tokens=size * 250_000, seed=1)
                report(path, size, compressed=bool(suffix), text=Path(folder) / f"{size}.jsonl")


def report(path: Path, size: int, *, compressed: bool, text: Path) -> None:
    real = text.stat().st_size / 1e6
    reference = best(bare, text)
    if not compressed:
        print(f"{size:>7} MB {'orjson.loads per line':<22} {real / reference:>8.0f} {1:>8.2f} {'':>9}")
    for name in ("stream", "index"):
        taken = best(globals()[name], path)
        label = f"{'records()' if name == 'stream' else 'Trace.open'}{' (zstd)' if compressed else ''}"
        memory = anonymous_memory(name, path)
        print(f"{size:>7} MB {label:<22} {real / taken:>8.0f} {reference / taken:>8.2f} {memory:>9.1f}")


if __name__ == "__main__":
    main()
