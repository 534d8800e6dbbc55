"""`replayer watch`."""

from __future__ import annotations

import argparse

from replayer.front import stop
from replayer.journal import find_run


class Command:
    """The screen on live or finished runs. Leaving it never harms a run. Example:

    replayer watch last
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")

    def run(self, args: argparse.Namespace) -> int:
        from replayer.tui.watch import watch

        folders = [find_run(name) for name in args.runs]
        if watch(folders) == "stop":
            for folder in folders:
                stop(folder)
        return 0
