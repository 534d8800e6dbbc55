"""`replayer report`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from replayer.journal import find_run
from replayer.report.csv import csv_report
from replayer.report.evidence import gather
from replayer.report.html import html_report
from replayer.report.junit import junit_report
from replayer.report.markdown import markdown_report
from replayer.report.output import show, show_together, write

_FORMATS = {
    "html": (html_report, "one HTML page that needs nothing else"),
    "markdown": (markdown_report, "Markdown for a pull request"),
    "csv": (csv_report, "one row per step and lane"),
    "junit": (junit_report, "JUnit XML for CI: a suite per lane, a case per session"),
}


class Command:
    """The summary of a run: a table, JSON, or files. Several runs are set side by side, and where they served several
    models, models by engines. Examples:

    replayer report last --json
    replayer report tonight last-night --html report.html --junit junit.xml
    replayer report qwen-run llama-run --together --json
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
        parser.add_argument("--json", action="store_true", help="print one JSON document per run")
        parser.add_argument(
            "--together", action="store_true", help="with --json: one document over all the runs"
        )
        for name, (_, words) in _FORMATS.items():
            parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=words)

    def run(self, args: argparse.Namespace) -> int:
        folders = [find_run(name) for name in args.runs]
        asked = {name: getattr(args, name) for name in _FORMATS if getattr(args, name) is not None}
        if asked:
            evidence = gather(folders)
            for name, path in asked.items():
                write(path, _FORMATS[name][0](evidence))
                print(f"wrote {path}", file=sys.stderr)
        if len(folders) > 1 and (args.together if args.json else not asked):
            show_together(folders, as_json=args.json)
        elif args.json or not asked:
            for folder in folders:
                show(folder, as_json=args.json)
        return 0
