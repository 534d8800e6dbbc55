"""Does a report find what is wrong with a lane, and nothing else? Real runs of two simulated engines over HTTP.

Scenarios: two equal lanes (A/A); lane b with 10 points more faults, with collapses, with a prefix cache that does not
hold, with decode speeds in two bands. Both lanes always have 5 % broken calls, at different seeds. A run's report is
read as a user reads it: every sentence of its summary is either planted (or follows from what was planted) or false.
Prints by scenario how many runs named what was planted, how many said anything false, and what.

    python -m benchmarks.findings [RUNS_PER_SCENARIO] [--only SCENARIO] [--keep DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.metrics.run_documents import Pair, RunFigures
from replayer.plan.load import make_plan
from replayer.run.job import Job
from replayer.run.runner import perform
from replayer.simulated import SimulatedSpec, launch
from tests.generate import long_session

SESSIONS, TURNS = 24, 14
NOISE = "unknown_tool@0.05"
SPECULATION: dict[str, Any] = {"kind": "llamacpp", "draft_tokens": 4, "tok_s": 3000, "band_seconds": 0.7}


@dataclass(frozen=True, slots=True)
class Scenario:
    """`b` changes lane b; `allowed` are the metrics that may differ because of it, `tell` the words that name it."""

    name: str
    both: dict[str, Any]
    b: dict[str, Any]
    allowed: frozenset[str]
    tell: tuple[str, ...]


TIMES = ("ttft_ms.p50", "ttft_ms.p95")
FOLLOWS = frozenset({"prefix_hit_rate"})
"""Of every other answer than the recorded one: its tokens are not those that the next prompt holds. After a collapse the
next first token is late too: the engine is still busy with what nobody reads any more."""
SCENARIOS = (
    Scenario("a/a", {}, {}, frozenset(), ()),
    Scenario(
        "faults +10 points",
        {},
        {"fault": ["unknown_tool@0.15"]},
        frozenset({"usable_turn_rate", "invalid_call_rate"}) | FOLLOWS,
        ("b is worse than a in usable turns",),
    ),
    Scenario(
        "collapse",
        {},
        {"fault": [NOISE, "collapse@0.1:at=20"]},
        frozenset({"usable_turn_rate", "collapsed_rate", "invalid_call_rate", *TIMES}) | FOLLOWS,
        ("repeated themselves", "b is worse than a in "),
    ),
    Scenario(
        "prefix broken",
        {"prefill_tok_s": 300_000},
        {"pool_tokens": 0},
        frozenset({"prefix_hit_rate", *TIMES}),
        ("Chief cause", "b is worse than a in reported prefix-cache hits"),
    ),
    Scenario(
        "speed bands",
        SPECULATION | {"acceptance": [0.9]},
        {"acceptance": [0.9, 0.3]},
        frozenset({"decode_tok_s"}),
        ("falls into separate bands",),
    ),
)


@contextlib.contextmanager
def engines(scenario: Scenario, traces: list[Path]) -> Iterator[dict[str, str]]:
    """Two servers of their own processes, by lane; they see every request of all runs of the scenario."""
    loop = asyncio.new_event_loop()
    servers = {}
    try:
        for lane in "ab":
            options = {"fault": [NOISE], "seed": ord(lane), "trace": [str(path) for path in traces]}
            options |= scenario.both | (scenario.b if lane == "b" else {})
            servers[lane] = loop.run_until_complete(launch(SimulatedSpec.from_options(options)))
        yield {lane: server.base_url for lane, server in servers.items()}
    finally:
        for server in servers.values():
            loop.run_until_complete(server.stop())
        loop.close()


def replay(urls: dict[str, str], traces: list[Path], folder: Path) -> RunFigures:
    """The folder's name seeds what the engines draw."""
    lanes = [
        {"name": lane, "url": url, "sampling": {"seed": crc32(f"{folder.name}/{lane}".encode()) >> 1}}
        for lane, url in urls.items()
    ]
    named = {path.name.partition(".")[0]: path for path in traces}
    values = {"traces": list(named), "lane": lanes, "limits": {"lag_ms": 60_000}, "telemetry_interval": 0.5}
    perform(Job(make_plan(values), folder, named))
    return run_figures(load(folder))


def judge(scenario: Scenario, document: RunFigures) -> tuple[bool, list[str]]:
    """(the planted thing is named, what else the summary states)."""
    found = document.conclusions
    words = " ".join(
        [*(lane.words for lane in found.lanes), *(pair.words for pair in found.pairs if pair.tone != "open")]
    )
    false = [
        pair.conclusion
        for pair in document.comparisons
        if pair.decided and not (pair.metric in scenario.allowed and _planted_way(pair))
    ]
    for lane in found.lanes:
        false += _false_of_lane(scenario, lane.lane, lane.words)
    return all(tell in words for tell in scenario.tell), false


def _planted_way(pair: Pair) -> bool:
    return pair.winner == pair.a


def _false_of_lane(scenario: Scenario, lane: str, sentence: str) -> list[str]:
    found = []
    for words in ("repeated themselves", "Chief cause", "falls into separate bands", "Engine errors"):
        if words in sentence and not (lane == "b" and words in scenario.tell):
            found.append(f"{lane}: {words}")
    return found


def run_scenario(
    scenario: Scenario, traces: list[Path], runs: int, keep: Path
) -> tuple[int, int, Counter[str]]:
    named = wrong = 0
    what: Counter[str] = Counter()
    with engines(scenario, traces) as urls:
        for number in range(runs):
            folder = keep / f"{scenario.name.replace(' ', '-').replace('/', '')}-{number}"
            found, false = judge(scenario, replay(urls, traces, folder))
            named, wrong = named + found, wrong + bool(false)
            what.update(false)
            if not found and scenario.tell:
                print(f"  not named: {folder.name}", file=sys.stderr)
    return named, wrong, what


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=20)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    print(f"{SESSIONS} sessions of {TURNS} turns on each of two lanes")
    total = false_runs = 0
    with tempfile.TemporaryDirectory() as scratch:
        keep = args.keep or Path(scratch)
        traces = [
            long_session(Path(scratch) / f"s{number:02}.trace.jsonl", turns=TURNS, tokens=2_500, seed=number)
            for number in range(SESSIONS)
        ]
        for scenario in SCENARIOS:
            if args.only not in (None, scenario.name):
                continue
            began = time.perf_counter()
            named, wrong, what = run_scenario(scenario, traces, args.runs, keep)
            total, false_runs = total + args.runs, false_runs + wrong
            tells = f"named in {named} of {args.runs}" if scenario.tell else "nothing to name"
            print(
                f"{scenario.name:20} {tells:20} a false finding in {wrong:2} ({time.perf_counter() - began:.0f} s)"
            )
            for sentence, times in what.most_common():
                print(f"    {times}x {sentence}", flush=True)
    print(f"{'all':20} a false finding in {false_runs} of {total} runs")


if __name__ == "__main__":
    main()
