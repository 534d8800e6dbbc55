"""Since which version, or value of a flag, is a command red? COMMAND is asked for each value that halves the span:
exit code 0 is good, 1 is bad, anything else did not start and is skipped. `replayer gate plan.toml`, with lanes that
start their own server (`command = [...]`), answers that way.

With --good and --bad, each version is installed into an environment of its own, which is first on the PATH of
COMMAND. {version} in COMMAND, or {KEY} with --axis, is the value. An interrupted search goes on where it was.
Examples:

  replayer bisect --good vllm==0.19.0 --bad vllm==0.21.0 -- replayer gate plan.toml
  replayer bisect --axis TOKENS=2048,4096,8192,16384 -- ./gate-with.sh {TOKENS}
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from replayer.commands.flags import flag
from replayer.errors import MissingPartError, PlanError
from replayer.gate.bisect import Answer, Found, State, between, environment, narrowed, opened, parse
from replayer.text import print_json, safe


def configure(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--good PKG==A", "a version that is good")
    flag(parser, "--bad PKG==B", "a version that is bad")
    flag(parser, "--versions A,B,C", "the versions from the good to the bad one (default: all released ones)")
    flag(parser, "--axis KEY=V1,V2,...", "values of anything, from the good to the bad one")
    flag(parser, "--no-install", "install nothing: COMMAND knows what to do with {version}")
    flag(
        parser,
        "--state FILE",
        "what was tried; environments lie beside it (default: .replayer-bisect/state.json)",
        type=Path,
        default=Path(".replayer-bisect/state.json"),
    )
    flag(parser, "--json", "print one JSON document")
    parser.add_argument("command_line", nargs="+", metavar="COMMAND", help="after --")


def run(args: argparse.Namespace) -> int:
    search = _search(args)
    state = opened(args.state, search.values, args.command_line)
    found = narrowed(state, args.state, search.attempt)
    if args.json:
        print_json(_document(found, state))
    else:
        print(safe(_words(found, state, search)))
    return 0


_ANSWERS: dict[int, tuple[Answer, str]] = {0: ("good", ""), 1: ("bad", "")}


@dataclass(frozen=True, slots=True)
class _Search:
    values: list[str]
    key: str
    command: list[str]
    folder: Path
    package: str | None
    """To install; None for an axis."""

    def attempt(self, value: str) -> tuple[Answer, str]:
        print(f"trying {safe(value)}", file=sys.stderr)
        variables = dict(os.environ) | {self.key: value}
        try:
            if self.package is not None:
                home = environment(self.folder / "environments", self.package, value)
                variables |= {
                    "PATH": f"{home}{os.pathsep}{variables.get('PATH', '')}",
                    "VIRTUAL_ENV": str(home.parent),
                }
            code = _run([word.replace(f"{{{self.key}}}", value) for word in self.command], variables)
            answer = _ANSWERS.get(code, ("skipped", f"exit code {code}"))
        except (MissingPartError, OSError) as error:
            answer = "skipped", str(error)
        print(f"{safe(value)}: {answer[0]}{f' ({safe(answer[1])})' if answer[1] else ''}", file=sys.stderr)
        return answer


def _run(words: list[str], variables: dict[str, str]) -> int:
    """In a process group of its own, so that an interrupted search leaves no server behind."""
    child = subprocess.Popen(words, env=variables, stdout=2, start_new_session=True)
    try:
        return child.wait()
    except BaseException:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()
        raise


def _search(args: argparse.Namespace) -> _Search:
    folder = args.state.parent
    if args.axis:
        if args.good or args.bad or args.versions:
            raise PlanError("--axis stands alone: --good, --bad and --versions are for packages")
        key, equals, values = args.axis.partition("=")
        if not equals or not key:
            raise PlanError(f"--axis {args.axis!r} is not KEY=V1,V2,..., from the good value to the bad one")
        return _Search(_several(values.split(","), "--axis"), key, args.command_line, folder, None)
    if not args.good or not args.bad:
        raise PlanError(
            "name a good and a bad version (--good vllm==A --bad vllm==B), or values with --axis KEY=V1,V2,..."
        )
    (package, good), (other, bad) = parse(args.good, "--good"), parse(args.bad, "--bad")
    if package != other:
        raise PlanError(f"--good is of {package} and --bad of {other}: bisect one package at a time")
    values = args.versions.split(",") if args.versions else between(package, good, bad)
    values = _several(values, "--versions")
    if values[0] != good or values[-1] != bad:
        raise PlanError(f"--versions must begin with the good one, {good}, and end with the bad one, {bad}")
    return _Search(values, "version", args.command_line, folder, None if args.no_install else package)


def _several(values: list[str], flag: str) -> list[str]:
    found = [value.strip() for value in values]
    if len(found) < 2 or len(set(found)) < len(found) or not all(found):
        raise PlanError(f"{flag}: at least two different values are needed, from the good one to the bad one")
    return found


def _document(found: Found, state: State) -> dict[str, object]:
    tried = [
        {"value": value, "answer": answer, "why": state.why.get(value, "")}
        for value, answer in state.answers.items()
    ]
    return {
        "first_bad": found.first_bad, "candidates": found.candidates, "last_good": found.last_good, "tried": tried,
    }  # fmt: skip


def _words(found: Found, state: State, search: _Search) -> str:
    name = search.package or search.key
    if found.first_bad is not None:
        return (
            f"first bad: {name} {found.first_bad} (last good: {found.last_good}; {len(state.answers)} tried)"
        )
    skipped = [value for value in found.candidates if state.answers.get(value) == "skipped"]
    return (
        f"first bad: one of {name} {', '.join(found.candidates)} (last good: {found.last_good}); "
        f"{', '.join(skipped)} did not start"
    )
