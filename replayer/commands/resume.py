"""Finish the missing sessions of a run that was stopped or killed.

Each unfinished session runs again from its first turn as a new attempt, in as many processes as before, or as are asked
for now. Examples:

  replayer resume last
  replayer resume runs/tonight --plain --processes 4
"""

from __future__ import annotations

import argparse

from replayer.commands.finishing import add_live_flags, add_view_flags, check_live_flags, finish
from replayer.commands.flags import flag
from replayer.commands.plan_flags import add_flags, flag_values
from replayer.engines.engine_spec import parse
from replayer.journal.log import find_run
from replayer.journal.progress import plan_of
from replayer.plan.limits import Limits
from replayer.plan.load import make_plan, make_plan_unexpanded
from replayer.plan.spread import Spread, instead
from replayer.run.into import with_secrets_of
from replayer.run.job import Job


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="run folder, its name, or last")
    flag(
        parser,
        "--engine SPEC",
        "a lane of the run again, for the login or key in it, which the run folder does not keep",
        action="append",
        default=[],
    )
    add_flags(parser, Spread, "spread")
    add_flags(parser, Limits, "limits")
    add_live_flags(parser)
    add_view_flags(parser)


def run(args: argparse.Namespace) -> int:
    from replayer.run.runner import perform  # late: behind a screen another process runs it

    check_live_flags(args)
    folder = find_run(args.run)
    plan = plan_of(folder)
    given = make_plan({"lane": [parse(spec).lane() for spec in args.engine]}, "--engine").lane
    limits = plan.limits.model_copy(update=flag_values(args, Limits, "limits"))
    anew = instead(flag_values(args, Spread, "spread")) | {"limits": limits}
    lanes = tuple(with_secrets_of(plan.lane, given))
    plan = make_plan_unexpanded(plan.model_copy(update=anew), lanes, "resume")
    return finish(Job(plan, folder, {}, "resume", args.metrics_port), perform, args)
