"""How often `replayer capacity` finds a simulated engine's known capacity, and at how many turns: within 1, within the interval
that is stated, and how many levels that were said to hold or to fail did not.

    python -m benchmarks.capacity [--seeds 20] [--kind rate|slots|faults] [--slower 4]

`--slower`: engines and limits slower by so much, for a machine that cannot load the quick ones.

`rate`: the engine decodes so many tokens/s in all, shared evenly: N sessions decode at total / N, and the limit on decode
speed holds up to total / limit. `slots`: requests beyond the slots wait, and the limit on TTFT holds up to the slots.
`faults`: cut answers grow with the load, a tenth for each request beyond the known number; latency holds at every level.

The ideal bisection tries the same levels, and takes at each the turns that one look at a fixed size needs for 80 % power
(Fleiss 1981) at the level's share, thirty at least, and those in flight at its end.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from random import Random
from statistics import NormalDist
from typing import Any

THRESHOLD = 0.95
TRACES = ("--trace", "fix-failing-test", "--trace", "first-look")


def engine(kind: str, known: int, slower: float) -> tuple[str, str]:
    """The engine's SPEC and the limits."""
    wait = f"ttft_ms={20 * slower:g},chunk_tokens=4"
    if kind == "rate":
        return (
            f"total_tok_s={150 / slower * (known + 0.5):g},{wait}",
            f"decode_tok_s.p5={150 / slower:g},ttft_ms.p95={2000 * slower:g}",
        )
    if kind == "slots":
        return f"slots={known},tok_s={300 / slower:g},{wait}", f"ttft_ms.p95={75 * slower:g}"
    return (
        f"tok_s={300 / slower:g},{wait},fault=truncated@0:above={known}:per=0.1",
        f"ttft_ms.p95={1000 * slower:g},decode_tok_s.p5={100 / slower:g}",
    )


def fixed_size(share: float) -> float:
    """Turns of one look with 80 % power, two-sided 5 %; of a share of 1, those that put the exact interval above it."""
    if share >= 1:
        return math.log(0.025) / math.log(THRESHOLD)
    z, power, p = NormalDist().inv_cdf(0.975), NormalDist().inv_cdf(0.8), THRESHOLD
    top = z * math.sqrt(p * (1 - p)) + power * math.sqrt(share * (1 - share))
    return max(30.0, (top / (share - p)) ** 2) if share != p else 4000.0


def search(kind: str, known: int, seed: int, slower: float) -> dict[str, Any]:
    spec, limits = engine(kind, known, slower)
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable, "-m", "replayer", "capacity", *TRACES, "--engine", f"a=simulated,{spec},seed={seed}", "--slo", limits,
            "--cap", "64", "--from", "4", "--duration", f"{60 * slower:g}", "--load-warm-up", "1", "--seed", str(seed), "--max-lag", "60000",
            "--out", folder + "/out", "--json",
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True)
        if not done.stdout:
            raise SystemExit(done.stderr)
        found: dict[str, Any] = json.loads(done.stdout)["lanes"][0]
        return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--kind", default="rate", choices=("rate", "slots", "faults"))
    parser.add_argument("--slower", type=float, default=1.0)
    args = parser.parse_args()
    right = claimed = inside = held = broke = not_held = not_broke = 0
    turns = ideal = 0.0
    for seed in range(args.seeds):
        known = Random(seed).randint(5, 20)
        found = search(args.kind, known, seed, args.slower)
        for level in found["levels"]:
            fits = level["sessions"] <= known
            held, not_held = (
                held + (level["outcome"] == "holds"),
                not_held + (level["outcome"] == "holds" and not fits),
            )
            broke, not_broke = (
                broke + (level["outcome"] == "fails"),
                not_broke + (level["outcome"] == "fails" and fits),
            )
        agents = found["agents"]
        if agents is None:
            print(f"seed {seed}: capacity {known}: no claim: {found['reasons']}", flush=True)
            continue
        claimed += 1
        right += abs(agents["value"] - known) <= 1
        inside += agents["low"] <= known <= (agents["high"] or known)
        mine = sum(level["shares"]["good"]["n"] for level in found["levels"])
        best = sum(
            fixed_size(level["shares"]["good"]["value"]) + level["sessions"] for level in found["levels"]
        )
        turns, ideal = turns + mine, ideal + best
        alone = found["within_limits"]
        print(
            f"seed {seed}: capacity {known}, found {agents['value']} ({agents['low']}-{agents['high']}), limits alone "
            f"{alone['value']}{'+' if alone['capped'] else ''}, {len(found['levels'])} levels, {mine} turns, ideal {best:.0f}",
            flush=True,
        )
    print(
        f"{args.kind}: {right} of {claimed} claims within 1 and {inside} within their interval, of {args.seeds} seeds; of {held} "
        f"levels that held {not_held} wrong, of {broke} that failed {not_broke} wrong; turns {turns / max(1.0, ideal):.2f} of the ideal"
    )


if __name__ == "__main__":
    main()
