"""What the commands that run something share: flags of the view, and the way from a job to its report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from replayer.commands.flags import flag, port
from replayer.errors import PlanError
from replayer.journal.log import writer_pid
from replayer.journal.parts import JOURNAL
from replayer.launch.job import Perform, follow
from replayer.report.otlp.exporter import exporting
from replayer.run.job import Job


def add_view_flags(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--plain", "progress bars instead of the screen")
    flag(parser, "--json", "print the report as one JSON document")


def add_live_flags(parser: argparse.ArgumentParser) -> None:
    """What others may see of a run while it goes on."""
    flag(
        parser,
        "--metrics-port P",
        "serve counts and times to Prometheus on 127.0.0.1:P while the run goes on",
        type=port,
    )
    flag(
        parser,
        "--otel URL",
        "send OpenTelemetry GenAI spans and metrics to this OTLP receiver while the run goes on",
    )
    flag(parser, "--content", "with --otel: prompts, replies, arguments and results too")


def check_live_flags(args: argparse.Namespace) -> None:
    if args.content and not args.otel:
        raise PlanError("--content says what --otel sends: give both")


def finish(job: Job, perform: Perform, args: argparse.Namespace) -> int:
    """Run the job, print its report, return the exit code. A run that was left running has no report yet."""
    asked = vars(args)
    with exporting(job.folder, asked.get("otel"), content=asked.get("content", False)):
        code = follow(job, perform, _screen, plain=args.plain or args.json)
    if (job.folder / JOURNAL).exists() and writer_pid(job.folder) is None:
        from replayer.report.table import show

        show(job.folder, as_json=args.json)
        if not args.json:
            print(f"run folder: {job.folder}", file=sys.stderr)
    return code


def _screen(folder: Path) -> str:
    from replayer.tui.watch import watch  # late: plain runs need no screen

    return watch([folder])
