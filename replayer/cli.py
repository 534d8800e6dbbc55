"""The `replayer` command: finds the sub-command, runs it, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import argparse
import atexit
import difflib
import gc
import importlib
import importlib.util
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn, Protocol, cast

from replayer import __version__
from replayer.errors import Interrupted, MissingPartError, ReplayerError
from replayer.text import screened

COMMANDS: dict[str, str] = {
    "demo": "replay a recorded session on two embedded lanes, with nothing to set up",
    "run": "replay traces against engines, side by side",
    "capacity": "the largest number of live sessions whose turns keep the limits and are usable",
    "plans": "the ready plans: latency, throughput ramp, long context, prefix, structured output, ...",
    "resume": "finish the missing sessions of a run",
    "stop": "end a run that goes on in the background",
    "runs": "list the runs",
    "watch": "the screen on live or finished runs",
    "report": "summarise runs: table, JSON, HTML, Markdown, CSV, JUnit",
    "compare": "paired statistics between lanes or runs",
    "gate": "is this version worse than the committed baseline?",
    "matrix": "one page over many runs: engine, version, parser, wire, model",
    "bisect": "since which version or flag a command is red",
    "repro": "write a folder that reproduces one turn",
    "import": "turn recordings of any known agent into native traces",
    "audit": "judge recorded sessions without an engine",
    "get": "list or fetch public workloads, pinned and licensed",
    "trace": "validate, print or export a native trace",
    "record": "a recording proxy in front of an engine",
    "judge": "the verdict on one captured exchange",
    "repetition": "find repetition collapse in any text",
    "cache": "what a measured run would have reused with another pool, block size or replicas",
    "prefix": "the ideal prefix-cache reuse of a trace, and what breaks it",
    "doctor": "what a server is, what it reports, and which flags are missing",
    "simulate": "a simulated engine as a server",
    "sandbox": "test the isolation, or run one command inside it",
    "logs": "throughput, acceptance and cache figures from an engine's log",
}
"""Sub-command -> the one line that `replayer --help` shows. Module: `replayer.commands.NAME` (`import_`)."""


_OWN_FAULT = 70
"""EX_SOFTWARE of sysexits.h: 1 would read as a limit that the engine broke."""


_FLAGS_SHOWN = 15
"""Most flags that a command's usage line shows."""


class Command(Protocol):
    """The module of a sub-command. Its docstring is the long help and ends with an example."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def _module(name: str) -> str:
    return f"replayer.commands.{name}" if name != "import" else "replayer.commands.import_"


def load(name: str) -> Command:
    return cast(Command, importlib.import_module(_module(name)))


def main(argv: Sequence[str] | None = None) -> int:
    _open_closed_streams()
    gc.set_threshold(100_000, 20, 20)  # importing makes many objects and throws none away
    if (
        argv is None
    ):  # httpx would load a command line of its own with click and pygments: a tenth of our start
        sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    with screened():
        code = _main(list(sys.argv[1:] if argv is None else argv))
    if argv is None:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End the process here: to take its objects apart one by one is a tenth of a long report's time."""
    if any(not (one.daemon or one is threading.main_thread()) for one in threading.enumerate()):
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(code)


def _main(argv: list[str]) -> int:
    if sys.platform == "win32":
        print(
            "replayer: Windows is not supported; run it in WSL (Linux on Windows), see `wsl --install`",
            file=sys.stderr,
        )
        return MissingPartError.exit_code
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
    except Exception:  # noqa: BLE001 — the outermost place there is
        traceback.print_exc()
        print(
            "replayer: this is a fault of replayer's own; nothing was judged. Please report the lines above",
            file=sys.stderr,
        )
        return _OWN_FAULT


def _open_closed_streams() -> None:
    """What goes to a stream that was closed before the start goes nowhere, not to the next file that is opened."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))


class _Parser(argparse.ArgumentParser):
    """Names the nearest command or flag where one was mistyped."""

    def error(self, message: str) -> NoReturn:
        typed, known = "", list[str]()
        if found := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message, re.DOTALL):
            typed, known = found[1], re.findall(r"[\w.-]+", found[2])
        elif found := re.match(r"unrecognized arguments: (?:[^-]\S* )*(-[^\s=]+)", message):
            typed, known = found[1], list(_flags(self))
        near = difflib.get_close_matches(typed, known, 1)
        super().error(f"{message}; did you mean {near[0]}?" if near else message)


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _flags(sub)


class _PrintCompletion(argparse.Action):
    """Loads every command, which takes a second; nothing else does."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: object, shell: object, flag: object = None
    ) -> None:
        try:
            import shtab
        except ImportError:
            parser.error("completion needs shtab: pip install 'agent-replayer[completion]'")
        print(shtab.complete(_parser(COMMANDS), str(shell)))
        parser.exit()


def _parse(argv: Sequence[str], chosen: str | None) -> argparse.Namespace:
    return _parser([chosen] if chosen else []).parse_args(argv)


def _parser(chosen: Iterable[str]) -> argparse.ArgumentParser:
    """With the flags of the `chosen` commands; loading all of them would make each start slow."""
    parser = _Parser(
        prog="replayer", description="Replay recorded coding-agent sessions against LLM engines."
    )
    parser.add_argument("--version", action="version", version=f"replayer {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh"),
        help='completion for a shell: eval "$(replayer --print-completion bash)"',
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        if importlib.util.find_spec(_module(name)) is None:
            continue
        if name not in chosen:
            commands.add_parser(name, help=summary)
            continue
        command = load(name)
        sub = commands.add_parser(
            name,
            help=summary,
            description=inspect.getdoc(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(sub)
        if sum(bool(action.option_strings) for action in sub._actions) > _FLAGS_SHOWN:
            sub.usage = _short_usage(sub)
    return parser


def _short_usage(parser: argparse.ArgumentParser) -> str:
    """Without the flags: fifty of them, which the help lists by groups, hide what went wrong."""
    words = argparse.ArgumentParser(prog=f"{parser.prog} [options]", add_help=False)
    for action in parser._get_positional_actions():
        words._add_action(action)
    return words.format_usage().removeprefix("usage: ").strip().replace("%", "%%")
