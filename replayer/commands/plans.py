"""The ready plans of load figures: list them, or print one to start your own from. Examples:

replayer plans
replayer plans throughput-ramp > my-ramp.toml
replayer run throughput-ramp --engine a=http://127.0.0.1:8000/v1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replayer.commands.flags import flag
from replayer.plan.shipped import find_plan, purpose, shipped
from replayer.text import print_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", type=Path, metavar="PLAN", help="print this one")
    flag(parser, "--json", "one JSON line per plan")


def run(args: argparse.Namespace) -> int:
    if args.plan is not None:
        print(find_plan(args.plan).read_text("utf-8"), end="")
        return 0
    for name, path in shipped().items():
        if args.json:
            print_json({"plan": name, "purpose": purpose(path), "file": str(path)})
        else:
            print(f"{name:18} {purpose(path)}")
    return 0
