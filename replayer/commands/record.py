"""Record what an agent and an OpenAI-compatible server say to each other: one trace per conversation.

Point the agent's base URL at the address that is printed. A reply that repeats itself, or a call that is invalid, is
named as soon as it has passed. Bytes pass unchanged; headers (keys, cookies) are never
written. Ctrl-C ends the recording.

Examples:
  replayer record --upstream http://127.0.0.1:8000/v1 --port 8080 -o sessions
  replayer record --upstream http://127.0.0.1:30000/v1 -o sessions
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson

from replayer.commands.flags import flag, port
from replayer.errors import ReplayerError, TraceError
from replayer.signals.base import Expected
from replayer.signals.repetition.detector import scan_reply
from replayer.text import safe
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.traces.passing import Passed
from replayer.traces.recorder import Waits, serve
from replayer.traces.recording import Recording
from replayer.traces.secrets import redactor
from replayer.traces.summary import check
from replayer.traces.upstream import Upstream, upstream
from replayer.wire.loop import run_receiving
from replayer.wire.types import Reply


def configure(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--upstream URL", "the server that answers", required=True)
    flag(parser, "--ca-file FILE", "certificates to trust, of an upstream with a CA of its own")
    flag(parser, "--host", "address to listen on (default: %(default)s)", default="127.0.0.1")
    flag(parser, "--port P", "port to listen on (default: any free)", type=port, default=0)
    flag(parser, "-o, --out DIR", "folder for the traces", default="recordings")
    for name, default, what in (
        ("connect", Waits().connect, "to connect to the upstream, TLS included"),
        ("first-byte", Waits().first_byte, "to the end of an answer's headers"),
        ("reply", Waits().total, "a whole exchange"),
    ):
        words = f"{what} (default: %(default)g)"
        parser.add_argument(f"--{name}-timeout", type=_seconds, default=default, metavar="S", help=words)
    flag(parser, "--redact", "replace secrets and home paths in what is written")
    flag(parser, "--redact-rules FILE", "more rules: PATTERN or PATTERN => TEXT, one a line")


def run(args: argparse.Namespace) -> int:
    to = upstream(args.upstream, args.ca_file)
    rules = Path(args.redact_rules) if args.redact_rules else None
    redact = redactor(rules) if args.redact or rules else None
    # Turns are judged in a thread of their own, so that bytes go on passing.
    with ThreadPoolExecutor(1) as judging:
        recording = Recording(Path(args.out), redact, lambda *turn: judging.submit(_print_verdict, *turn))
        try:
            run_receiving(_serve(to, recording, args))
        finally:
            recording.close()
    _report(recording)
    return 0


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: a number of seconds above 0 is needed")
    return seconds


async def _serve(to: Upstream, recording: Recording, args: argparse.Namespace) -> None:
    """Until a signal, or until nothing can be written any more. Raises the TraceError of the latter."""
    stop = asyncio.Event()
    failures: list[TraceError] = []

    def take(passed: Passed) -> None:
        if failures:
            return
        try:
            recording.add(passed)
        except TraceError as error:
            failures.append(error)
            stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    waits = Waits(args.connect_timeout, args.first_byte_timeout, args.reply_timeout)
    proxy = await serve(to, take, args.host, args.port, waits=waits)
    host = f"[{args.host}]" if ":" in args.host else args.host
    where = f"recording http://{host}:{proxy.port}{to.path} -> {args.upstream} into {args.out}"
    print(f"{where}; Ctrl-C ends it", flush=True)
    await stop.wait()
    await proxy.close()
    if failures:
        raise failures[0]


def _print_verdict(path: Path, turn: int, passed: Passed) -> None:
    reply = passed.reply
    assert reply is not None
    if reply.fault is not None:
        what = f"{reply.fault.kind}: {safe(reply.fault.message).replace(chr(10), ' ')[:80]}"
    else:
        what = f"{len(reply.tool_calls)} calls, {len(reply.content):,} characters{_judged(passed.request, reply)}"
    print(
        f"{path.name} turn {turn}: status {passed.status}, {what}, {passed.seconds * 1e3:,.0f} ms", flush=True
    )


def _judged(request: bytes, reply: Reply) -> str:
    """What is wrong with a reply: collapses and invalid calls as they happen."""
    try:
        facts = read_request(orjson.loads(request), "the request")
    except (ReplayerError, ValueError):
        return ""
    found = scan_reply(reply, Expected(facts.prompt_contains))
    collapse = next((one.words for one in found if one.level == "collapsed"), None)
    verdict = judge(Case(reply, Validator(facts.tools), facts, collapsed=collapse))
    faults = [f"{fault.klass} ({safe(fault.message)[:80]})" for fault in verdict.faults]
    words = "" if verdict.usable else ", NOT USABLE"
    return (words + (f": {'; '.join(faults)}" if faults else "")).replace("\n", " ")


def _report(recording: Recording) -> None:
    noticed: dict[Path, list[str]] = {}
    for path, warning in recording.warnings():
        noticed.setdefault(path, []).append(warning)
    for path in recording.paths:
        summary = check(path)
        print(f"{path}: {summary.turns} turns, {summary.tool_calls} tool calls, {summary.threads} threads")
        for warning in (*summary.warnings, *noticed.get(path, ())):
            print(f"  warning: {warning}")
    if not recording.paths:
        print("nothing was recorded")
