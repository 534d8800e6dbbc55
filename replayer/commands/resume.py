"""`replayer resume`."""

from __future__ import annotations

import argparse

from replayer.commands.finishing import add_view_flags, finish
from replayer.journal.log import find_run
from replayer.journal.progress import plan_of
from replayer.launch.job import Job


class Command:
    """Finish the missing sessions of a run that was stopped or killed.

    Each unfinished session runs again from its first turn as a new attempt. Example:

      replayer resume last
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", metavar="RUN", help="run folder, its name, or last")
        add_view_flags(parser)

    def run(self, args: argparse.Namespace) -> int:
        folder = find_run(args.run)
        return finish(Job(plan_of(folder), folder, {}, "resume"), args)
