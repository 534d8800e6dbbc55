"""The screen on live or finished runs. Leaving it never harms a run. Examples:

replayer watch last
replayer watch tonight last-night
replayer watch last --web
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replayer.commands.flags import flag, port
from replayer.errors import MissingPartError, ReplayerError
from replayer.journal.log import find_run
from replayer.launch.job import stop
from replayer.tui.terminal import why_no_screen


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
    flag(parser, "--web", "in a browser: serve the screen and the report on 127.0.0.1 with a token")
    flag(parser, "--port P", "of --web (default: a free one)", type=port, default=0)


def run(args: argparse.Namespace) -> int:
    folders = [find_run(name) for name in args.runs]
    if args.web:
        return _served(folders, args.port)
    if missing := why_no_screen():
        raise ReplayerError(
            f"no screen can be shown: {missing}; `replayer report {' '.join(args.runs)}` prints the figures"
        )
    from replayer.tui.watch import watch

    if watch(folders) == "stop":
        for folder in folders:
            stop(folder)
    return 0


def _served(folders: list[Path], port: int) -> int:
    try:
        from replayer.launch.web import serve
    except ModuleNotFoundError as error:
        raise MissingPartError("--web needs textual-serve: pip install 'agent-replayer[web]'") from error
    serve(folders, port)
    return 0
