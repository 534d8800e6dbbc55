"""`replayer watch`."""

from __future__ import annotations

import argparse

from replayer.errors import ReplayerError
from replayer.journal.log import find_run
from replayer.launch.job import stop
from replayer.tui.terminal import why_no_screen


class Command:
    """The screen on live or finished runs. Leaving it never harms a run. Example:

    replayer watch last
    replayer watch tonight last-night
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")

    def run(self, args: argparse.Namespace) -> int:
        folders = [find_run(name) for name in args.runs]
        if missing := why_no_screen():
            raise ReplayerError(
                f"no screen can be shown: {missing}; `replayer report {' '.join(args.runs)}` prints the figures"
            )
        from replayer.tui.watch import watch

        if watch(folders) == "stop":
            for folder in folders:
                stop(folder)
        return 0
