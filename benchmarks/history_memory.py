"""Request bodies of many sessions with long prompts: anonymous memory of the process that builds and holds them.

    PYTHONPATH=. python benchmarks/history_memory.py [--sessions 1000] [--tokens 100000] [--traces 1]

Goal: 1,000 sessions of 100,000 tokens under 250 MiB of anonymous memory, everything imported.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from replayer.requests.history import RecordedHistory
from replayer.traces.reader import Trace
from replayer.wire.types import Request
from tests.generate import long_session


def anonymous() -> float:
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("RssAnon")).split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--traces", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            long_session(Path(folder) / f"{n}.jsonl", turns=60, tokens=given.tokens, seed=n)
            for n in range(given.traces)
        ]
        start = anonymous()
        histories = [RecordedHistory(Trace.open(path)) for path in paths]
        requests: list[Request] = []
        begin = time.perf_counter()
        for session in range(given.sessions):
            history = histories[session % given.traces]
            fields = {"model": "m", "temperature": 0.7, "max_tokens": 64}
            requests.append(history.request(history.turns[-1], fields, marker=f"\n\n[session {session}]"))
        taken = time.perf_counter() - begin
        total = sum(request.content_length for request in requests)
        pieces = sum(len(request.body) for request in requests) / len(requests)
        print(f"{len(requests)} bodies, {total / 1e6:.0f} MB in all, {pieces:.0f} pieces each")
        print(f"built in {taken:.2f} s ({taken / len(requests) * 1e6:.0f} us each)")
        print(
            f"anonymous memory {anonymous():.0f} MiB, of which {anonymous() - start:.0f} MiB for the bodies"
        )


if __name__ == "__main__":
    main()
