"""Plan a prefix cache from one measured run: expected reuse and evictions for other pools, blocks and replicas.

A simulation of the run's own sessions, each waiting for its replies. The first line simulates the run's own cache, so that
you see how far the simulation is from what was measured; "from-to" is what it gives when times vary as they did.

Examples:
  replayer cache last --pool 50%,200% --replicas 1,2,4
  replayer cache runs/tonight --lane vllm --pool 200000,400000 --block 16,64,256 --json
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rich.console import Console

from replayer.commands.flags import flag
from replayer.errors import PlanError
from replayer.journal.log import find_run
from replayer.metrics.shown import count, percent
from replayer.report.section import Section, table
from replayer.report.table import print_section
from replayer.repro.cache_plan import CachePlan, cache_plan
from replayer.repro.cache_simulation import Planned, Variant
from replayer.text import print_json

_POOLS = "25%,50%,100%,200%,unlimited"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="run folder, its name, or last")
    flag(parser, "--lane NAME", "the lane (needed where there are several)")
    flag(
        parser,
        "--pool P,P",
        "tokens, shares of the run's own, or unlimited (default: %(default)s)",
        default=_POOLS,
    )
    flag(parser, "--block N,N", "tokens of a block (default: the engine's)", default="")
    flag(
        parser,
        "--replicas N,N",
        "servers that share the sessions, with and without affinity (default: 1)",
        default="1",
    )
    flag(parser, "--json", "print one JSON document")


def run(args: argparse.Namespace) -> int:
    pools = [text.strip() for text in args.pool.split(",") if text.strip()]
    plan = cache_plan(
        find_run(args.run),
        args.lane,
        pools,
        _whole(args.block, "--block"),
        _whole(args.replicas, "--replicas"),
    )
    if args.json:
        print_json(plan)
    else:
        print_section(_section(plan), Console())
    return 0


def _whole(text: str, name: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = [0]
    if any(number < 1 for number in found):
        raise PlanError(f"{name} {text!r} is not a list of whole numbers from 1 on")
    return found


_PLANNED: dict[str, Callable[[tuple[str, Planned]], str]] = {
    "pool, tokens each": lambda one: one[0] + _pool(one[1].variant),
    "block": lambda one: str(one[1].variant.block_size),
    "replicas": lambda one: _replicas(one[1].variant),
    "reused": lambda one: percent(one[1].reuse) if one[1].known else "not known",
    "from-to": lambda one: f"{one[1].low * 100:.1f}-{one[1].high * 100:.1f}",
    "evicted first": lambda one: percent(one[1].evicted_share),
    "evicted tokens": lambda one: count(one[1].evicted_tokens),
}


def _section(plan: CachePlan) -> Section:
    rows = [("as measured: ", plan.simulated)] if plan.simulated is not None else []
    measured = f"measured: {percent(plan.measured)} of the prompts of {plan.requests} requests reused"
    notes = (measured, plan.note, *plan.doubts)
    return table(
        f"Cache planner, lane {plan.lane}", _PLANNED, [*rows, *(("", one) for one in plan.plans)], *notes
    )


def _pool(variant: Variant) -> str:
    return "unlimited" if variant.pool_tokens is None else count(variant.pool_tokens)


def _replicas(variant: Variant) -> str:
    how = "" if variant.replicas == 1 else ", sessions kept" if variant.affinity else ", in turn"
    return f"{variant.replicas}{how}"
