"""Memory of the runner with 1,000 concurrent sessions whose prompts are 100,000 tokens and more each.

Starts a simulated engine and a run in processes of their own, samples the runner's anonymous resident memory, and
prints its peak. Held once per session the prompts would be 400 MB of text.

    python benchmarks/run_memory.py [--sessions 1000] [--tokens 100000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from replayer.journal.events import TurnFinished
from replayer.journal.log import read
from tests.generate import long_session


def anonymous_mb(pid: int) -> float:
    """RssAnon of a process in MB; 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith("RssAnon")), "RssAnon: 0 kB")
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=150_000)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trace = long_session(Path(scratch) / "long.trace.jsonl", turns=args.turns, tokens=args.tokens, seed=1)
        folder = Path(scratch) / "run"
        command = [
            sys.executable, "-m", "replayer", "run", "--trace", str(trace), "--out", str(folder), "--json",
            "--engine", "sim=simulated,ttft_ms=2000,context_length=1000000,pool_tokens=1000000000",
            "--repeat", str(args.sessions), "--concurrency", str(args.sessions), "--max-tokens", "50",
        ]  # fmt: skip
        began = time.monotonic()
        runner = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        peak = 0.0
        while runner.poll() is None:
            peak = max(peak, anonymous_mb(runner.pid))
            time.sleep(0.1)
        assert runner.stdout is not None
        lane = json.loads(runner.stdout.read())["lanes"][0]
        turns = [event for event in read(folder) if isinstance(event, TurnFinished)]
        print(f"sessions {lane['sessions']}, turns {len(turns)}, errors {lane['errors'] or 'none'}")
        print(f"largest prompt {max((s.usage or {}).get('prompt_tokens') or 0 for s in turns):,} tokens")
        print(f"peak anonymous memory of the runner {peak:.0f} MB (goal: under 250)")
        print(f"took {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
