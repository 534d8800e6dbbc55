"""Is this engine version worse than the one of the baseline? `gate init` runs a plan and writes a small file to
commit; `gate` runs the same plan again and exits 1 where a figure is worse beyond noise and beyond its margin.

Times differ from run to run: `init` runs the plan three times to see by how much (--runs), each lane runs twice in
a job, and a time counts only beyond both (--no-times leaves times out, and all that). Exit code 1: worse.
2: nothing can be decided. Examples:

  replayer gate init plan.toml
  replayer gate plan.toml --junit gate.xml
  replayer gate plan.toml --engine vllm=http://127.0.0.1:8000/v1 --margin ttft_ms.p95=20% --margin error_rate=off
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from replayer.commands.flags import flag
from replayer.commands.plan_arguments import complete, merged, resolve
from replayer.commands.plan_flags import add_plan_flags
from replayer.errors import PlanError
from replayer.gate.baseline import NAME, Baseline, read, write
from replayer.gate.decision import Decision, baseline_of, decided, lost, size
from replayer.gate.margins import DEFAULT_MARGINS, margins, parse
from replayer.gate.summary import document, junit, lines, markdown, workflow_commands
from replayer.gate.times import LEAST_RUNS
from replayer.journal.log import find_run, new_run_folder
from replayer.journal.parts import JOURNAL
from replayer.journal.several_runs import trace_digests
from replayer.journal.view import RunView, load
from replayer.launch.job import follow
from replayer.metrics.compare import AGAIN
from replayer.metrics.gate import check_plan
from replayer.metrics.stats import MIN_SESSIONS
from replayer.plan.load import load_plan, make_plan
from replayer.plan.shipped import find_plan
from replayer.run.job import Job
from replayer.run.runner import perform
from replayer.text import print_json
from replayer.wire.types import JsonObject


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="[init] PLAN.toml", help="plan file, or the name of a ready plan"
    )
    flag(parser, "--against FILE", f"default: {NAME}", type=Path, default=Path(NAME))
    flag(
        parser,
        "--from RUN",
        "use this finished run, and run nothing (repeatable)",
        dest="run_folder",
        action="append",
    )
    flag(
        parser,
        "--runs N",
        f"init: how often to run the plan, to see what times differ from run to run ({LEAST_RUNS})",
        type=int,
        default=LEAST_RUNS,
    )
    flag(
        parser,
        "--margin METRIC=AMOUNT",
        "how much worse is allowed: points of a rate, percent of a time or speed, or off (default: "
        + ", ".join(f"{key}={amount}" for key, amount in DEFAULT_MARGINS.items()).replace("%", "%%")
        + ")",
        action="append",
        default=[],
    )
    flag(parser, "--no-times", "run each lane once, and compare no time")
    flag(parser, "--junit FILE", "write JUnit XML", type=Path)
    flag(
        parser, "--summary FILE", "write Markdown (default: $GITHUB_STEP_SUMMARY, where it is set)", type=Path
    )
    flag(parser, "--trace FILE", "as for run", action="append", default=[])
    flag(parser, "--engine SPEC", "as for run", action="append", default=[])
    flag(parser, "--set KEY=VALUE", "as for run", action="append", default=[])
    flag(parser, "--out DIR", "run folder (default: runs/TIME)", type=Path)
    flag(parser, "--json", "print one JSON document")
    add_plan_flags(parser)


def run(args: argparse.Namespace) -> int:
    init = args.words[:1] == ["init"]
    words = args.words[1:] if init else args.words
    if len(words) > 1:
        raise PlanError(f"gate takes one plan, not {len(words)}: {' '.join(words)}")
    given = parse(args.margin)
    if init:
        return _init(args, words, given)
    base = read(args.against)
    (folder,) = _run(args, words, base)[:1]
    return _judge(args, folder, base, given)


def _run(args: argparse.Namespace, words: list[str], base: Baseline | None, runs: int = 1) -> list[Path]:
    """The folders of the runs. Raises PlanError, and what a run raises."""
    if args.run_folder:
        return [find_run(name) for name in args.run_folder]
    args.plan = find_plan(Path(words[0])) if words else None
    values = load_plan(args.plan) if args.plan else dict(_plan_of(base))
    origin = str(args.plan) if args.plan else "the command line"
    values = merged(values, args)
    values["aa"] = not args.no_times
    paths = resolve(values, args.plan)
    plan = make_plan(values, origin)
    check_plan(plan, origin)
    complete(plan)
    first: Path = new_run_folder("gate", args.out)
    folders = [first] + [first.with_name(f"{first.name}-{number}") for number in range(2, runs + 1)]
    taken = next((folder for folder in folders if (folder / JOURNAL).exists()), None)
    if taken is not None:
        raise PlanError(f"{taken} holds a run already; choose another --out")
    for folder in folders:
        follow(Job(plan, folder, paths), perform, _no_screen, plain=True)
    return folders


def _no_screen(folder: Path) -> str:
    raise PlanError("a gate has no screen")


def _plan_of(base: Baseline | None) -> JsonObject:
    """What the baseline ran, without its lanes: where they are now is for the command line to say."""
    kept = base.view.plan if base else {}
    return {key: value for key, value in kept.items() if value is not None and key != "aa"}


def _init(args: argparse.Namespace, words: list[str], given: dict[str, str]) -> int:
    folders = _run(args, words, None, 1 if args.no_times else args.runs)
    views = [load(folder) for folder in folders]
    view = views[0]
    for one in views:
        _check(one)
    times = [one.metric for one in margins(given).values() if one.metric.drifts]
    written = write(args.against, baseline_of(views, trace_digests(folders[0]), given, times))
    sizes = {lane.name: size(view, lane) for lane in view.lanes if not lane.name.endswith(AGAIN)}
    if args.json:
        documents = {name: one.document() for name, one in sizes.items()}
        print_json({"baseline": str(args.against), "bytes": written, "sizes": documents})
        return 0
    print(f"baseline: {args.against}, {written / 1000:.0f} kB, to commit")
    for name, found in sizes.items():
        print(f"{name}: {found.words()}")
    return 0


def _check(view: RunView) -> None:
    if reasons := lost(view):
        raise PlanError(f"a baseline needs a whole run: {reasons[0]}")
    sessions = min((len({a.trace for a in lane.attempts if a.complete}) for lane in view.lanes), default=0)
    if sessions < MIN_SESSIONS:
        raise PlanError(
            f"a gate needs at least {MIN_SESSIONS} different sessions, this run has {sessions}: name more traces "
            "(repeats of a session are not further evidence)"
        )


def _judge(args: argparse.Namespace, folder: Path, base: Baseline, given: dict[str, str]) -> int:
    view = load(folder)
    limits = margins({**base.margins, **given})
    if args.no_times:
        limits = {key: one for key, one in limits.items() if not one.metric.drifts}
    found = decided(view, trace_digests(folder), base, limits)
    lanes = [lane.name for lane in view.lanes if not lane.name.endswith(AGAIN)]
    _write(args, found, lanes, str(folder))
    return 1 if found.red else 0 if found.checks and not found.lost else PlanError.exit_code


def _write(args: argparse.Namespace, found: Decision, lanes: list[str], run: str) -> None:
    if args.junit:
        args.junit.write_text(junit(found, lanes, run))
    summary = args.summary or os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a") as stream:
            stream.write(markdown(found, lanes, run))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("\n".join(workflow_commands(found, run)), file=sys.stderr if args.json else sys.stdout)
    if args.json:
        print_json(document(found, lanes))
    else:
        print("\n".join(lines(found, lanes, run)))
