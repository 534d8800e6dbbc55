"""Replay traces against engines, side by side.

A plan file, flags, or both (flags win). Ready plans go by their names: see below. Examples:

  replayer run --trace fix-failing-test --engine a=http://127.0.0.1:8000/v1 --engine b=http://127.0.0.1:30000/v1
  replayer run plan.toml --repeat 3 --fail-if "usable_turn_rate < 0.95"
  replayer run throughput-ramp --engine a=http://127.0.0.1:8000/v1 --set matrix.concurrency=[1,8,64]

Engine SPEC: NAME=URL[,kind=K][,model=M][,api_key_env=VAR][,header.NAME=VALUE][,temperature=0.9]
[,any sampling field=value],
NAME=embedded[,...] or NAME=simulated[,fault=...].
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from replayer.commands.finishing import add_live_flags, add_view_flags, check_live_flags, finish
from replayer.commands.flags import flag
from replayer.commands.plan_arguments import add_plan_arguments, complete, merged, resolve, take_plan
from replayer.journal.log import find_run, new_run_folder
from replayer.journal.progress import plan_of
from replayer.metrics.gate import check_plan
from replayer.plan.load import load_plan, make_plan
from replayer.plan.shipped import find_plan, purpose, shipped
from replayer.run.into import widen
from replayer.run.job import Job
from replayer.wire.types import JsonObject

ON_MACOS = "on macOS times come without kernel stamps and real-time priority, and no tool call is run"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "ready plans:\n" + "\n".join(
        f"  {name:18} {purpose(path)}" for name, path in shipped().items()
    )
    add_plan_arguments(parser, "plan file, or the name of a ready plan")
    where = parser.add_mutually_exclusive_group()
    flag(where, "--out DIR", "run folder (default: runs/TIME)", type=Path)
    flag(where, "--into RUN", "run only what this earlier run lacks: lanes, repeats")
    add_live_flags(parser)
    add_view_flags(parser)


def run(args: argparse.Namespace) -> int:
    from replayer.run.runner import perform  # late: behind a screen another process runs it

    if sys.platform == "darwin":
        print(f"replayer: {ON_MACOS}", file=sys.stderr)
    check_live_flags(args)
    take_plan(args)
    if args.plan:
        args.plan = find_plan(args.plan)
    values = load_plan(args.plan) if args.plan else {}
    origin = str(args.plan) if args.plan else "the command line"
    values = merged(values, args)
    if args.into:
        return finish(_widening(values, origin, args), perform, args)
    paths = resolve(values, args.plan)
    plan = make_plan(values, origin)
    check_plan(plan, origin)
    complete(plan)
    folder = new_run_folder("run", args.out)
    return finish(Job(plan, folder, paths, metrics_port=args.metrics_port), perform, args)


def _widening(values: JsonObject, origin: str, args: argparse.Namespace) -> Job:
    """Add to an earlier run: what is done there stays, and only sessions that are new are run."""
    folder = find_run(args.into)
    old = plan_of(folder)
    if values.get("traces") or values.get("workload"):
        resolve(values, args.plan)
    else:
        values["traces"] = list(old.traces)
    widened = widen(old, make_plan(values, origin), given=values.keys(), run=args.into)
    check_plan(widened, origin)
    complete(widened)
    return Job(widened, folder, {}, "widen", args.metrics_port)
