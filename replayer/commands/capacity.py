"""Search for the largest number of live sessions at which enough turns are usable and within the limits.

Levels double until one fails, then halve the gap. A level ends as soon as the interval of its share of good turns
excludes the threshold; it lasts a minute at most (--duration). Each level is a run folder of its own under DIR/levels.

Examples:
  replayer capacity --trace flaky-service --engine a=http://127.0.0.1:8000/v1 \\
      --slo ttft_ms.p95=15000,decode_tok_s.p5=30
  replayer capacity PLAN.toml --usable 0.9 --tiers 20,60,100 --price-gpu-hour 3.5 --html capacity.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson
from pydantic import ValidationError
from rich.console import Console

from replayer.commands.flags import flag
from replayer.commands.plan_arguments import add_plan_arguments, merged, resolve, take_plan
from replayer.commands.plan_flags import add_flags, flag_values
from replayer.errors import Interrupted, PlanError
from replayer.journal.log import new_run_folder
from replayer.metrics.capacity.document import Capacity
from replayer.plan.load import first_problem, load_plan, make_plan
from replayer.plan.model import Plan
from replayer.plan.shipped import find_plan
from replayer.report.capacity import capacity_html, capacity_markdown, print_capacity
from replayer.report.saving import write
from replayer.run.capacity.search_run import Found, Search, document, mean_turns
from replayer.run.capacity.shape import PRESETS, CapacityShape, preset
from replayer.run.runner import perform
from replayer.text import print_json, safe
from replayer.traces.reader import Trace
from replayer.traces.trees import trees
from replayer.wire.types import JsonObject

RESULT = "capacity.json"
_FILLER = "prompts of a [[workload]] are filler: usable says that a reply came, not that it was right"


def configure(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser, "plan file with a [capacity] table")
    add_flags(parser, CapacityShape, "capacity")
    flag(parser, "--out DIR", "folder of the levels (default: a new one under runs/)", type=Path)
    flag(parser, "--json", "print one JSON document")
    flag(parser, "--markdown FILE", "Markdown for a pull request", type=Path)
    flag(parser, "--html FILE", "one HTML page with the curves", type=Path)


def run(args: argparse.Namespace) -> int:
    take_plan(args)
    values = load_plan(find_plan(args.plan)) if args.plan else {}
    origin = str(args.plan) if args.plan else "the command line"
    shape, notes, values = _shape(values, args, origin)
    values = merged(values, args)
    paths = resolve(values, args.plan)
    plan = make_plan(values, origin)
    _check(plan, shape)
    folder = new_run_folder("capacity", args.out)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    notes += [_FILLER] if plan.workload else []
    return _search(Search(plan, shape, paths, folder, _say, perform), notes, args)


def _shape(
    values: JsonObject, args: argparse.Namespace, origin: str
) -> tuple[CapacityShape, list[str], JsonObject]:
    """What is asked: the preset, over it the plan's `[capacity]`, over it the flags; and the plan's other values."""
    values = dict(values)
    table = values.pop("capacity", {})
    if not isinstance(table, dict):
        raise PlanError(f"{origin}: capacity is not a table")
    asked = {**table, **flag_values(args, CapacityShape, "capacity")}
    notes: list[str] = []
    if name := asked.get("preset"):
        rule = preset(str(name))
        asked = {**rule.capacity, **asked}
        values = {**rule.plan, **values, "load": {**rule.load, **values.get("load", {})}}
        notes += rule.not_kept
    try:
        return CapacityShape.model_validate(asked), notes, values
    except ValidationError as error:
        raise PlanError(f"{origin}: {first_problem(error)}") from None


def _check(plan: Plan, shape: CapacityShape) -> None:
    if not plan.lane:
        raise PlanError("no engine to load: name one with --engine NAME=URL, or NAME=simulated")
    if not plan.load.closed:
        raise PlanError("a capacity is a number of live sessions: arrivals must be closed")
    if not shape.limits and not shape.preset:
        presets = ", ".join(PRESETS)
        raise PlanError(
            f"no limit: name one, e.g. --slo ttft_ms.p95=15000,decode_tok_s.p5=30, or --preset ({presets})"
        )


def _search(search: Search, notes: list[str], args: argparse.Namespace) -> int:
    found: list[Found] = []
    code = 0
    try:
        for lane in search.plan.lane:
            found.append(search.lane(lane))
    except Interrupted:
        lane = search.plan.lane[len(found)]
        found.append(Found(lane.name, None, search.levels, ["the search was cut short"]))
        code = Interrupted.exit_code
    lengths = [len(tree.turns) for path in search.traces.values() for tree in trees(Trace.open(path))]
    result = document(search.shape, found, notes, mean_turns(lengths))
    write(search.folder / RESULT, orjson.dumps(result))
    _show(result, search.folder, args)
    return code or (0 if all(lane.valid for lane in result.lanes) else 1)


def _show(result: Capacity, folder: Path, args: argparse.Namespace) -> None:
    if args.json:
        print_json(result)
    else:
        print_capacity(result, Console())
        print(f"levels: {folder}/levels; each is a run folder for `watch` and `report`", file=sys.stderr)
    if args.markdown:
        write(args.markdown, capacity_markdown(result))
    if args.html:
        write(args.html, capacity_html(result))


def _say(words: str) -> None:
    print(safe(words), file=sys.stderr, flush=True)
