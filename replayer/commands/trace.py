"""Validate, read or export a native trace.

FILE is a path or the name of a shipped session.

Examples:
  replayer trace check sessions/fix.trace.jsonl
  replayer trace show fix-failing-test --brief
  replayer trace export fix-failing-test --to openai -o requests.jsonl
  replayer trace export mine.trace.jsonl --to native --redact -o to-share.trace.jsonl
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replayer.commands.flags import flag
from replayer.errors import TraceError
from replayer.text import print_json
from replayer.traces import show
from replayer.traces.export import EXPORTS, export
from replayer.traces.library import find
from replayer.traces.reader import Trace
from replayer.traces.secrets import redactor
from replayer.traces.summary import check


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check", "show", "export"))
    parser.add_argument("file", metavar="FILE")
    flag(parser, "--json", "check: one JSON document")
    flag(parser, "--brief", "show: one line per turn")
    flag(parser, "--full", "show: do not fold long texts")
    flag(parser, "--thread", "show, export: only this thread", default=None)
    flag(parser, "--to", "export: the format", choices=sorted(EXPORTS), default="openai")
    flag(parser, "--redact", "export: replace secrets and home paths")
    flag(parser, "-o, --out FILE", "export: write here instead of to stdout")


def run(args: argparse.Namespace) -> int:
    path = find(args.file)
    if args.action == "check":
        return _check(path, args.json)
    with Trace.open(path) as trace:
        _check_thread(trace, args.thread)
        if args.action == "show":
            show.show(trace, brief=args.brief, full=args.full, thread=args.thread)
        else:
            redact = redactor() if args.redact else None
            export(trace, args.to, Path(args.out) if args.out else None, args.thread, redact)
    return 0


def _check_thread(trace: Trace, thread: str | None) -> None:
    names = list(dict.fromkeys(turn.thread for turn in trace.turns))
    if thread is not None and thread not in names:
        raise TraceError(f"--thread {thread}: the trace has no such thread (it has: {', '.join(names)})")


def _check(path: Path, as_document: bool) -> int:
    summary = check(path)
    if as_document:
        print_json(summary)
        return 0
    print(f"{path}: sound; {summary.counts}")
    print("fidelity: " + ", ".join(f"{key} {value}" for key, value in summary.fidelity.items()))
    for warning in summary.warnings:
        print(f"warning: {warning}")
    return 0
