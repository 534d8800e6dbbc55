"""One page over many runs: usable turns by engine, version, tool parser, model and wire, each cell linked to the report
of its run. The folder needs no server and no network. Examples:

  replayer matrix runs/* -o matrix
  replayer matrix monday tuesday wednesday -o public/tools
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replayer.commands.flags import flag
from replayer.errors import PlanError
from replayer.journal.log import find_run
from replayer.report.matrix import INDEX, write


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
    flag(parser, "-o, --out DIR", "default: matrix", type=Path, default=Path("matrix"))


def run(args: argparse.Namespace) -> int:
    if args.out.exists() and not args.out.is_dir():
        raise PlanError(f"{args.out} is a file: name a folder with -o")
    cells = write([find_run(name) for name in args.runs], args.out)
    print(f"{args.out / INDEX}: {cells} cells of {len(args.runs)} runs")
    return 0
