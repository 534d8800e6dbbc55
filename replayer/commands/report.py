"""The summary of a run: a table, JSON, or files. Several runs are set side by side, and where they served several
models, models by engines. Examples:

  replayer report last --json
  replayer report tonight last-night --html report.html --junit junit.xml
  replayer report qwen-run llama-run --together --json
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from replayer.commands.flags import flag
from replayer.commands.many import add_processes_flag, mapped
from replayer.errors import PlanError
from replayer.journal.log import find_run
from replayer.journal.salvage import Salvaged, salvaged
from replayer.report.evidence import gather
from replayer.report.formats import FORMATS, files
from replayer.report.saving import write
from replayer.report.table import show, show_together
from replayer.repro.rejudge import Rejudged, rejudged
from replayer.text import safe
from replayer.traces.compact import uncollected


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder, its name, or last")
    flag(parser, "--json", "print one JSON document per run")
    flag(parser, "--together", "with --json: one document over all the runs")
    flag(
        parser,
        "--rejudge",
        "judge every reply again, by the rules of this version of replayer; the run stays as it is",
    )
    flag(
        parser,
        "--salvage",
        "read what is sound of a damaged journal, and say what is missing; the run stays as it is",
    )
    add_processes_flag(parser)
    for name, words in FORMATS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=words)
    flag(
        parser,
        "--otlp FILE|URL",
        "OpenTelemetry GenAI spans and metrics as OTLP JSON, to files or a receiver (http://127.0.0.1:4318)",
    )
    flag(
        parser,
        "--br DIR",
        "an llm-d benchmark report per lane, and agent_reliability.json (needs agent-replayer[exchange])",
        type=Path,
    )
    flag(parser, "--content", "with --otlp: prompts, replies, arguments and results too")


def run(args: argparse.Namespace) -> int:
    if args.content and not args.otlp:
        raise PlanError("--content says what --otlp writes: give both")
    folders = [find_run(name) for name in args.runs]
    with ExitStack() as stack:
        if args.salvage:
            folders = [_salvaged(stack.enter_context(salvaged(folder))) for folder in folders]
        if args.rejudge:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replayer-rejudge-")))
            jobs = [(folder, scratch / str(number)) for number, folder in enumerate(folders)]
            folders = [_said(again) for again in mapped(_again, jobs, args.processes)]
        return _report(folders, args)


def _salvaged(found: Salvaged) -> Path:
    for words in found.words or ["the journal is whole"]:
        print(f"{found.folder.name}: {words}", file=sys.stderr)
    return found.folder


def _again(job: tuple[Path, Path]) -> Rejudged:
    return rejudged(*job)


def _said(again: Rejudged) -> Path:
    print(
        f"{again.folder.name}: {again.judged:,} replies judged again, {again.changed:,} verdicts changed",
        file=sys.stderr,
    )
    return again.folder


@uncollected()
def _report(folders: list[Path], args: argparse.Namespace) -> int:
    asked = {name: getattr(args, name) for name in FORMATS if getattr(args, name) is not None}
    if asked:
        evidence = gather(folders)
        for name, path in asked.items():
            for place, content in files(name, path, evidence).items():
                write(place, content)
                print(f"wrote {place}", file=sys.stderr)
    if args.otlp:
        from replayer.report.otlp.spans import export_runs

        for where in export_runs(folders, args.otlp, content=args.content):
            print(f"wrote {safe(where)}", file=sys.stderr)
    if args.br:
        from replayer.report.benchmark_report import export_reports

        for path in export_reports(folders, args.br):
            print(f"wrote {safe(str(path))}", file=sys.stderr)
    written = asked or args.otlp or args.br
    if len(folders) > 1 and (args.together if args.json else not written):
        show_together(folders, as_json=args.json)
    elif args.json or not written:
        for folder in folders:
            show(folder, as_json=args.json)
    return 0
