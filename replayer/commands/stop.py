"""End a run that goes on in the background; its journal stays complete. Examples:

replayer stop last
replayer stop runs/tonight
"""

from __future__ import annotations

import argparse
import sys

from replayer.journal.log import find_run
from replayer.launch.job import stop


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="run folder, its name, or last")


def run(args: argparse.Namespace) -> int:
    folder = find_run(args.run)
    ended = stop(folder)
    message = f"stopped; `replayer resume {folder}` goes on" if ended else "nothing is writing this run"
    print(message, file=sys.stderr)
    return 0
