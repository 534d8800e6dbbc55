"""`replayer resume`."""

from __future__ import annotations

import argparse

from replayer.commands.finishing import add_view_flags, finish
from replayer.engines.engine_spec import parse
from replayer.journal.log import find_run
from replayer.journal.progress import plan_of
from replayer.plan.load import make_plan
from replayer.run.into import with_secrets_of
from replayer.run.job import Job


class Command:
    """Finish the missing sessions of a run that was stopped or killed.

    Each unfinished session runs again from its first turn as a new attempt. Example:

      replayer resume last
      replayer resume runs/tonight --plain
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="run folder, its name, or last")
        parser.add_argument(
            "--engine",
            action="append",
            default=[],
            metavar="SPEC",
            help="a lane of the run again, for the login or key in it, which the run folder does not keep",
        )
        add_view_flags(parser)

    def run(self, args: argparse.Namespace) -> int:
        from replayer.run.runner import perform  # late: behind a screen another process runs it

        folder = find_run(args.run)
        plan = plan_of(folder)
        given = make_plan({"lane": [parse(spec).lane() for spec in args.engine]}, "--engine").lane
        plan = plan.model_copy(update={"lane": tuple(with_secrets_of(plan.lane, given))})
        return finish(Job(plan, folder, {}, "resume"), perform, args)
