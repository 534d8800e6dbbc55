"""Say what a server is, what it can report, and the flag that would fix what is missing.

Examples:
  replayer doctor http://127.0.0.1:8000/v1
  replayer doctor http://127.0.0.1:8000/v1 --trace my-session.trace.jsonl

Sends a few tiny requests, and some of about 1,100 words that show how its prefix cache works; --no-probe sends none.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from replayer.commands.flags import flag
from replayer.doctor.diagnosis import Diagnosis, describe, examine
from replayer.engines.detect import connect
from replayer.errors import PlanError
from replayer.text import print_json
from replayer.traces.library import find
from replayer.wire.client import WireClient
from replayer.wire.credentials import without_secrets
from replayer.wire.limits import Timeouts
from replayer.wire.remote import Receiver


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the server, for example http://127.0.0.1:8000/v1")
    parser.add_argument("--kind", help="skip detection")
    flag(parser, "--api-key-env VAR", "the variable that holds the API key")
    flag(parser, "--trace F", "say whether this trace fits the server's context")
    flag(parser, "--no-probe", "send no request that generates", dest="probe", action="store_false")
    flag(parser, "--json", "print one JSON document")


def run(args: argparse.Namespace) -> int:
    found = asyncio.run(_examine(args))
    if args.json:
        print_json(found.as_data(), indent=True)
    else:
        print(describe(found))
    return 0


_PATIENCE = Timeouts(first_byte=180, first_token=180, idle=60, total=300)
"""Someone waits before a terminal, and asks for a few tokens only."""


async def _examine(args: argparse.Namespace) -> Diagnosis:
    key = _key(args.api_key_env)
    longest = longest_prompt(args.trace) if args.trace else None
    _say(f"connecting to {without_secrets(args.url)}")
    engine = await connect(args.url, kind=args.kind, api_key=key)
    receiver = Receiver()
    client = WireClient(
        engine.dial_url, api_key=key, classify=engine.fault, timeouts=_PATIENCE, receiver=receiver
    )
    try:
        return await examine(engine, client, probe=args.probe, longest_prompt=longest, api_key=key, say=_say)
    finally:
        await client.aclose()
        receiver.close()
        await engine.aclose()


def _say(what: str) -> None:
    print(f"doctor: {what} …", file=sys.stderr, flush=True)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise PlanError(f"--api-key-env: the variable {variable} is not set")
    return os.environ[variable]


def longest_prompt(name: str) -> int | None:
    """Tokens of a trace's longest prompt: as its usage says, else estimated at 4 characters a token."""
    from replayer.traces.reader import Trace

    with Trace.open(find(name)) as trace:
        said = [turn.usage.prompt_tokens for turn in trace.turns if turn.usage and turn.usage.prompt_tokens]
        if said:
            return max(said)
        sizes = [len(repr(item)) // 4 for item in trace.items()]
        contexts = (trace.context(turn.id) for turn in trace.turns)
        return max((sum(sizes[number] for number in context) for context in contexts), default=None)
