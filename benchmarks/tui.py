"""What the screen costs: a journal fed with 20,000 events/s from four lanes, and a finished run of 2,000 turns.

    python -m benchmarks.tui [--rate 20000] [--seconds 8]

Goals: a key answered within 150 ms, under half a core, at most 1 KB of memory per turn; 2,000 turns open in under 1 s.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from multiprocessing import Process
from pathlib import Path

from benchmarks.pty_screen import PtyScreen
from replayer.journal.events import SessionStarted, TurnFinished, TurnStarted, VerdictGiven
from replayer.journal.packing import pack
from replayer.tui.source import RunSource
from tests.tui.pictures import Folder

LANES: dict[str, dict[str, float]] = {name: {} for name in ("vllm", "sglang", "trtllm", "llamacpp")}
TURNS = 50
"""Of one session."""
KEYS = (
    ("turns", b"2", "cut by the token budget"),
    ("telemetry", b"3", "time of the run"),
    ("log", b"4", "warnings"),
    ("lanes", b"1", "usable turns"),
    ("help opens", b"?", "signs of a turn"),
    ("help closes", b"q", "usable turns"),
    ("theme", b"t", "usable turns"),
    ("freeze", b" ", "frozen"),
    ("follow", b" ", "following"),
)
"""What is pressed, and words that the answer paints."""


def feed(path: Path, rate: int, seconds: float) -> None:
    """Append lines to the journal of a run that has begun, in bursts of 20 ms: sessions one after another."""
    opening, lines = _session_line(), _turn_lines()
    with (path / "journal.jsonl").open("ab", buffering=0) as journal:
        began, turn = time.monotonic(), 0
        while (passed := time.monotonic() - began) < seconds:
            due = int(passed * rate / len(lines))
            burst = []
            for number in range(turn, due):
                lane, turn = list(LANES)[number % 4].encode(), number // 4
                session = b"%d" % (1 + turn // TURNS)
                wanted = lines if turn % TURNS else [opening, *lines]
                burst += [
                    line.replace(b"@lane", lane)
                    .replace(b"123454321", session)
                    .replace(b"987654321", b"%d" % (turn % TURNS))
                    for line in wanted
                ]
            turn = max(turn, due)
            journal.write(b"".join(burst))
            time.sleep(0.02)


def _session_line() -> bytes:
    started = SessionStarted(
        session="@lane/session/123454321", attempt=1, lane="@lane", trace="session", repeat=123454321, turns=TURNS,
        mode="recorded", tools="recorded", cache_reset="yes",
    )  # fmt: skip
    return started.model_dump_json().encode() + b"\n"


def _turn_lines() -> list[bytes]:
    where = {"session": "@lane/session/123454321", "attempt": 1, "turn": 987654321, "at": 5}
    usage = {"prompt_tokens": 20_000, "cached_tokens": 19_000, "completion_tokens": 60}
    events = [
        TurnStarted(**where, recorded_turn=1, body_bytes=1, wall=0.0),
        TurnFinished(
            **where, content="I look at it.", reasoning="", tool_calls=[], finish_reason="stop", usage=usage,
            usage_source="usage", done=True, fault=None, retries=0, headers_ns=1, ttft_ns=50_000_000,
            total_ns=600_000_000, deltas=60, arrivals=pack([50_000_000 + 9_000_000 * n for n in range(60)]),
        ),
        VerdictGiven(**where, usable=True, faults=[]),
    ]  # fmt: skip
    return [event.model_dump_json().encode() + b"\n" for event in events]


def folder(scratch: str, turns: int) -> Folder:
    made = Folder(Path(scratch) / "run", LANES, turns=1_000_000)
    for turn in range(turns // 4):
        for lane in LANES:
            made.turn(lane, turn)
    return made


def busy(rate: int, seconds: float) -> None:
    """The screen while the journal grows: left alone, then with keys pressed."""
    with tempfile.TemporaryDirectory() as scratch:
        made = folder(scratch, 4)
        screen = PtyScreen([sys.executable, "-m", "replayer", "watch", str(made.path)])
        writer = Process(target=feed, args=(made.path, rate, 2 * seconds))
        try:
            screen.wait_for("usable turns")
            writer.start()
            began, cpu = time.monotonic(), screen.cpu()
            time.sleep(seconds)
            spent = (screen.cpu() - cpu) / (time.monotonic() - began)
            waits = _press(screen, seconds)
            memory = screen.memory_mb()
        finally:
            screen.close()
            writer.join()
    print(f"{rate:,} events/s for {2 * seconds:.0f} s: {spent:.2f} of a core, {memory:.0f} MB")
    for name, found in waits.items():
        print(
            f"  {name:12} in ms: median {1e3 * statistics.median(found):4.0f}, worst {1e3 * max(found):4.0f}"
        )


def _press(screen: PtyScreen, seconds: float) -> dict[str, list[float]]:
    """By key, how long each answer took."""
    waits: dict[str, list[float]] = {name: [] for name, *_ in KEYS}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for name, keys, words in KEYS:
            waits[name].append(screen.wait_for(words, keys))
            time.sleep(random.uniform(0.2, 0.5))
    return waits


def memory_and_opening(turns: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        made = folder(scratch, turns)
        made.finish(*LANES)
        began = time.monotonic()
        RunSource(made.path).poll()
        print(f"a finished run of {turns:,} turns: first frame after {time.monotonic() - began:.2f} s")
        tracemalloc.start()
        source = RunSource(made.path)
        source.poll()
        print(f"  memory per turn {tracemalloc.get_traced_memory()[0] / turns:.0f} bytes")
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=8)
    args = parser.parse_args()
    memory_and_opening(2_000)
    busy(args.rate, args.seconds)


if __name__ == "__main__":
    main()
