"""Serve a simulated engine: recorded replies over real HTTP, at a set speed and with seeded faults.

Examples:
  replayer simulate --kind vllm --trace fix-failing-test --tok-s 100 --fault unknown_tool@0.1
  replayer simulate --kind sglang --trace fix-failing-test --port 30000

A fault is class[@rate][:key=value...], for example collapse@0.05:at=200 or leaked_markup:family=kimi.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import textwrap
from dataclasses import fields
from typing import get_args

from replayer.commands.flags import flag, port
from replayer.simulated.planted import CLASSES
from replayer.simulated.serve import serve
from replayer.simulated.spec import LISTS, SETTINGS, WHOLE, SimulatedKind, SimulatedSpec
from replayer.traces.library import find


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "fault classes:\n" + textwrap.fill(
        ", ".join(sorted(CLASSES)), 100, initial_indent="  ", subsequent_indent="  "
    )
    parser.add_argument("--host", default="127.0.0.1")
    flag(parser, "--port", "0 picks a free one (default: %(default)s)", type=port, default=8000)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for item in fields(SimulatedSpec):
        group = SETTINGS[item.name].group
        if group not in groups:
            groups[group] = parser.add_argument_group(group)
        _add(groups[group], item.name, item.default)


def run(args: argparse.Namespace) -> int:
    given = {name: value for name, value in vars(args).items() if name in SETTINGS}
    options = {name: value for name, value in given.items() if value is not None}
    options["trace"] = [str(find(name)) for name in args.trace]
    spec = SimulatedSpec.from_options(options)

    def ready(port: int) -> None:
        url = f"http://{args.host}:{port}/v1"
        print(f"simulated {spec.kind} at {url} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        if args.port == 0:
            print(url, flush=True)

    asyncio.run(serve(spec, args.host, args.port, ready))
    return 0


def _add(group: argparse._ArgumentGroup, name: str, default: object) -> None:
    """A setting of the simulated engine as a flag."""
    about = SETTINGS[name]
    flag = about.flag or "--" + name.replace("_", "-")
    if isinstance(default, bool):
        action = "store_false" if default else "store_true"
        group.add_argument(flag, dest=name, action=action, help=about.words)
    elif name == "kind":
        group.add_argument(flag, choices=get_args(SimulatedKind), default=default, help=about.words)
    elif name in LISTS:
        group.add_argument(flag, action="append", default=[], help=about.words)
    else:
        number = int if name in WHOLE else float
        group.add_argument(flag, type=number if about.least is not None else str, help=about.words)
