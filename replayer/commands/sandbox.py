"""Test the isolation that tool calls run in, or run one command inside it.

`check` tries what must work and what must not, and exits with 3 when the isolation does not hold. `run` shows
what the command printed and takes over its exit code (124: out of time, 125: another limit).

Examples:
  replayer sandbox check
  replayer sandbox run -- python3 -c 'print(open("/etc/passwd").read())'
  replayer sandbox run --workspace .@HEAD -- git log --oneline
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import sys
from pathlib import Path

from replayer.commands.flags import flag
from replayer.errors import PlanError
from replayer.text import print_json
from replayer.tools.environment import Environment, Wanted, prepare
from replayer.tools.sandbox.probe import Check, SandboxGrade, probe
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.types import Limits, Ran
from replayer.tools.sandbox.workspace import Workspace
from replayer.traces.library import find
from replayer.traces.reader import Trace

BACKENDS = ("auto", "bubblewrap", "landlock", "container", "seatbelt")
MARKS = {True: "held", False: "BROKEN", None: "not demanded"}
TIMED_OUT, LIMITED = 124, 125
"""Exit codes of `run` when a limit ended the command (as timeout(1) has them)."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|run")
    common = argparse.ArgumentParser(add_help=False)
    flag(common, "--json", "one JSON document on stdout")
    flag(
        common,
        "--sandbox",
        "which isolation; weaker ones than auto are never chosen by themselves",
        choices=BACKENDS,
        default="auto",
    )
    actions.add_parser("check", parents=[common], help="try the isolation and grade it")
    one = actions.add_parser("run", parents=[common], help="run one command inside")
    flag(one, "--workspace DIR[@COMMIT]", "start with a copy of this folder or commit")
    flag(one, "--trace FILE", "start with the workspace of this trace")
    flag(one, "--timeout SECONDS", "default 120", type=float, default=120.0)
    one.add_argument("command_line", nargs="*", metavar="CMD", help="the command, after --")


def run(args: argparse.Namespace) -> int:
    if args.action == "check":
        return check(args.sandbox, args.json)
    if not args.command_line:
        raise PlanError("sandbox run needs a command: replayer sandbox run -- CMD [ARG…]")
    if args.timeout <= 0:
        raise PlanError(f"--timeout {args.timeout:g} must be more than 0 seconds")
    ran = asyncio.run(inside(args))
    if args.json:
        print_json(as_json(ran))
    else:
        show(ran)
    return exit_code(ran)


def check(backend: str, as_document: bool) -> int:
    graded = probe(backend)
    if as_document:
        facts = {"backend": graded.backend, "grade": graded.grade, "memory": graded.memory or None}
        facts["reason"] = graded.reason or None
        checks = [dataclasses.asdict(one) for one in graded.checks]
        print_json({**facts, "checks": checks})
    else:
        print(table(graded))
    return 3 if graded.grade == "none" else 0


def table(graded: SandboxGrade) -> str:
    rows = [row(one) for one in graded.checks]
    widths = [max((len(one[n]) for one in rows), default=0) for n in range(4)]
    lines = [
        "  ".join(session.ljust(width) for session, width in zip(one, widths, strict=True)).rstrip()
        for one in rows
    ]
    verdict = f"isolation: {graded.grade} ({graded.backend})"
    memory = [f"memory limit: {graded.memory}"] if graded.memory else []
    return "\n".join([*lines, verdict, *memory, *([graded.reason] if graded.reason else [])])


def row(one: Check) -> tuple[str, str, str, str]:
    return one.name, f"expected {one.expected}", f"observed {one.observed}", MARKS[one.held]


async def inside(args: argparse.Namespace) -> Ran:
    workspace, environment = prepared(args)
    limits = Limits(timeout=args.timeout)
    started = await Sandbox.start(workspace, environment=environment, limits=limits, backend=args.sandbox)
    async with started as sandbox:
        return await sandbox.run(args.command_line)


def prepared(args: argparse.Namespace) -> tuple[Workspace, Environment | None]:
    if args.workspace and args.trace:
        raise PlanError("give --workspace or --trace, not both")
    if args.workspace:
        return Workspace.from_directory(args.workspace), None
    if not args.trace:
        return Workspace.empty(), None
    path: Path = find(args.trace)
    with Trace.open(path) as trace:
        workspace = Workspace.from_trace(trace.header.workspace, path)
    wanted = Wanted.from_trace(workspace.environment, path)
    return workspace, prepare(wanted) if wanted else None


def show(ran: Ran) -> None:
    """As it was printed where it goes to a file; made safe where it goes to a terminal."""
    if sys.stdout.isatty():
        print(ran.output, end="")
    else:
        sys.stdout.buffer.write(ran.head + ran.tail if not ran.dropped else ran.output.encode())
        sys.stdout.flush()
    if ran.limit:
        print(f"replayer: stopped by the limit of {ran.limit} after {ran.duration:.1f} s", file=sys.stderr)


def as_json(ran: Ran) -> dict[str, object]:
    facts = {"exit_code": ran.exit_code, "output": ran.output, "dropped_bytes": ran.dropped}
    return facts | {"limit": ran.limit, "duration": ran.duration}


def exit_code(ran: Ran) -> int:
    if ran.exit_code is None:
        return TIMED_OUT if ran.timed_out else LIMITED
    return ran.exit_code if ran.exit_code >= 0 else 128 - ran.exit_code
