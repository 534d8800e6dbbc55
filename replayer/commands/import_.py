"""Turn recordings of coding agents into native traces. The format is found by content, never by name.

`zed` in place of a file is the thread store of the Zed editor on this machine, opened read-only.

Examples:
  replayer import ~/.claude/projects/-home-me-app/3f1c.jsonl -o sessions
  replayer import zed --list
  replayer import zed --pick "Fix the parser" -o sessions
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from replayer.commands.flags import flag
from replayer.commands.many import add_processes_flag, mapped
from replayer.errors import TraceError
from replayer.text import print_json
from replayer.traces.convert import convert, is_known, list_sessions, recordings_in, settled
from replayer.traces.importers import importers
from replayer.traces.importers.zed_store import default_store
from replayer.traces.summary import Summary

Outcome = Summary | TraceError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="recordings, folders of them, `-` (stdin), or `zed`"
    )
    flag(parser, "-o, --out DIR", "folder for the traces (default: here)", default=".")
    flag(parser, "--format F", "insist on a format instead of finding it")
    flag(parser, "--formats", "list the formats that are known")
    flag(parser, "--pick ID|TITLE", "only this session", action="append", default=[])
    flag(parser, "--list", "list the sessions of each file, import nothing")
    add_processes_flag(parser)
    flag(parser, "--json", "one JSON line per trace")


def run(args: argparse.Namespace) -> int:
    if args.formats:
        for name, experimental in sorted({(i.format, i.experimental) for i in importers()}):
            print(f"{name}{'  (experimental)' if experimental else ''}")
        return 0
    if not args.files:
        raise TraceError("name at least one FILE to import, or `zed` for the editor's own store")
    paths = [path for name in args.files for path in inputs(name)]
    if args.processes != 1 and not args.list:
        errors = _by_processes(paths, args)
    else:
        errors = [error for path in paths for error in _one(path, args)]
    for error in errors:
        print(f"replayer: {error}", file=sys.stderr)
    return TraceError.exit_code if errors else 0


def inputs(name: str) -> list[Path]:
    """The files that a word stands for. Of a folder: every recording in it; a file that cannot be read is named later."""
    path = default_store() if name == "zed" and not os.path.exists(name) else Path(name)
    if not os.path.isdir(path):  # says no where Path.is_dir raises
        return [path]
    try:
        files = list(recordings_in(path))
    except OSError as error:
        raise TraceError(f"{error.filename}: {error.strerror or error}") from None
    known = [file for file in files if not os.access(file, os.R_OK) or is_known(file)]
    if not known:
        raise TraceError(f"{path}: the folder holds no recording of a known format")
    if len(known) < len(files):
        print(f"replayer: {path}: files of no known format: {len(files) - len(known)}", file=sys.stderr)
    return known


def _one(path: Path, args: argparse.Namespace) -> list[TraceError]:
    """Handles one input; its errors do not keep the other inputs from being imported."""
    try:
        if args.list:
            for session in list_sessions(path, args.format):
                print(f"{session.key or session.name or '-'}  {session.title or ''}".rstrip())
            return []
        return reported(path, convert(path, Path(args.out), args.format, args.pick), args.json)
    except TraceError as error:
        return [error]


def reported(path: Path, outcomes: Iterable[Outcome], as_lines: bool) -> list[TraceError]:
    """Says what was written; what could not be read."""
    errors, read = [], []
    try:
        for outcome in outcomes:
            if isinstance(outcome, TraceError):
                errors.append(outcome)
            else:
                read.append(outcome)
                _report(outcome, as_lines)
        if read and not any(summary.turns for summary in read):
            errors.append(
                TraceError(f"{path}: nothing to replay: read as {read[0].format}, it holds no LLM call")
            )
    except TraceError as error:
        errors.append(error)
    return errors


def _by_processes(paths: list[Path], args: argparse.Namespace) -> list[TraceError]:
    """Each file into a folder of its own, then all into theirs one after another: names come out as they do in one
    process."""
    out, errors = Path(args.out), []
    with staged(out) as stage:
        work = partial(converted, format_name=args.format, pick=tuple(args.pick))
        found = mapped(work, [(path, stage / str(n)) for n, path in enumerate(paths)], args.processes)
        for path, outcomes in zip(paths, found, strict=True):
            placed = (one if isinstance(one, TraceError) else settled(one, out) for one in outcomes)
            errors += reported(path, placed, args.json)
    return errors


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder beside what is going to be written there."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".import-", dir=out) as stage:
        yield Path(stage)


def converted(
    job: tuple[Path, Path], *, format_name: str | None = None, pick: tuple[str, ...] = ()
) -> list[Outcome]:
    """What became of one input, in a folder of its own."""
    path, out = job
    found: list[Outcome] = []
    try:
        found.extend(convert(path, out, format_name, pick))
    except TraceError as error:
        found.append(error)
    return found


def _report(summary: Summary, as_line: bool) -> None:
    if as_line:
        print_json(summary)
        return
    print(f"{summary.trace}: {summary.format}, {summary.counts}")
    absent = [key for key, value in summary.fidelity.items() if value == "absent"]
    if absent:
        print(f"  absent in the source: {', '.join(absent)}")
    for warning in summary.warnings:
        print(f"  warning: {warning}")
