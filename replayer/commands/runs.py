"""List the runs under `runs` (or $REPLAYER_RUNS), and those started here with --out, oldest first. Examples:

replayer runs
replayer runs --json | jq -r .run
"""

from __future__ import annotations

import argparse
import sys

from replayer.commands.flags import flag
from replayer.journal.log import list_runs, runs_root, writer_pid
from replayer.journal.view import load
from replayer.text import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--json", "JSON lines")


def run(args: argparse.Namespace) -> int:
    folders = list_runs()
    if not folders:
        print(f"no run under {runs_root()} yet; start one with `replayer demo`", file=sys.stderr)
    for folder in folders:
        view = load(folder, running=writer_pid(folder) is not None)
        line = {
            "run": str(folder),
            "state": view.state,
            "lanes": [lane.name for lane in view.lanes],
            "traces": list(view.plan.get("traces", [])),
            "sessions_done": sum(lane.sessions_done for lane in view.lanes),
            "sessions": sum(lane.sessions_planned for lane in view.lanes),
        }
        print_json(line) if args.json else print(_readable(line))
    return 0


def _readable(line: dict[str, object]) -> str:
    lanes = ", ".join(map(str, line["lanes"] if isinstance(line["lanes"], list) else []))
    return f"{line['run']}  {line['state']}  {line['sessions_done']}/{line['sessions']} sessions  {lanes}"
