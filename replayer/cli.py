"""The `replayer` command: finds the sub-command, runs it, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from replayer import __version__
from replayer.errors import Interrupted, ReplayerError

COMMANDS: dict[str, str] = {
    "trace": "validate, print or export a native trace",
}
"""Sub-command -> the one line that `replayer --help` shows. Module: `replayer.commands.NAME`, class `Command`."""


class Command(Protocol):
    """A sub-command. Its class docstring is the long help and ends with an example."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def load(name: str) -> Command:
    module = importlib.import_module(f"replayer.commands.{name.replace('-', '_')}")
    command: Command = module.Command()
    return command


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    name = next((word for word in argv if not word.startswith("-")), None)
    try:
        args = _parse(argv, name if name in COMMANDS else None)
        return load(args.command).run(args)
    except ReplayerError as error:
        print(f"replayer: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("replayer: interrupted", file=sys.stderr)
        return Interrupted.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parse(argv: Sequence[str], chosen: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="replayer", description="Replay recorded coding-agent sessions against LLM engines."
    )
    parser.add_argument("--version", action="version", version=f"replayer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        if name != chosen:
            commands.add_parser(name, help=summary)
            continue
        command = load(name)
        sub = commands.add_parser(
            name,
            help=summary,
            description=type(command).__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(sub)
    return parser.parse_args(argv)
