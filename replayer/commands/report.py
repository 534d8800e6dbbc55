"""`replayer report`."""

from __future__ import annotations

import argparse

from replayer.journal import find_run
from replayer.report.output import show


class Command:
    """The summary of a run: a table, or JSON. Example:

    replayer report last --json
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
        parser.add_argument("--json", action="store_true", help="print one JSON document per run")

    def run(self, args: argparse.Namespace) -> int:
        for name in args.runs:
            show(find_run(name), as_json=args.json)
        return 0
