"""`replayer simulate`: the simulated engine as a server."""

from __future__ import annotations

import argparse
import asyncio
import sys
import textwrap
from dataclasses import fields
from typing import Any, get_args

from replayer.simulated.planted import CLASSES
from replayer.simulated.serve import serve
from replayer.simulated.spec import SimulatedKind, SimulatedSpec
from replayer.traces.library import find


class Command:
    """Serve a simulated engine: recorded replies over real HTTP, at a set speed and with seeded faults.

    replayer simulate --kind vllm --trace fix-failing-test --tok-s 100 --fault unknown_tool@0.1

    A fault is class[@rate][:key=value...], for example collapse@0.05:at=200 or leaked_markup:family=kimi.
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.epilog = "fault classes:\n" + textwrap.fill(
            ", ".join(sorted(CLASSES)), 100, initial_indent="  ", subsequent_indent="  "
        )
        add = parser.add_argument
        add("--host", default="127.0.0.1")
        add("--port", type=int, default=8000, help="0 picks a free one (default: %(default)s)")
        add("--kind", choices=get_args(SimulatedKind), default="vllm", help="the engine to imitate")
        add("--model", default="simulated", help="the served model's name")
        add("--trace", action="append", default=[], help="a trace whose replies are played (repeatable)")
        add("--captures", metavar="DIR", help="play captured exchanges back byte for byte instead")
        add("--fault", action="append", default=[], metavar="SPEC", help="a seeded fault (repeatable)")
        add("--seed", type=int, default=0)
        add("--api-key", help="answer 401 without it")
        _speed(parser.add_argument_group("speed"))
        _cache(parser.add_argument_group("prefix cache"))
        _reports(parser.add_argument_group("what it reports"))

    def run(self, args: argparse.Namespace) -> int:
        names = {field.name for field in fields(SimulatedSpec)}
        options = {name: value for name, value in vars(args).items() if name in names and value is not None}
        options["trace"] = [str(find(name)) for name in args.trace]
        spec = SimulatedSpec.from_options(options)

        def ready(port: int) -> None:
            url = f"http://{args.host}:{port}/v1"
            print(f"simulated {spec.kind} at {url} (Ctrl-C ends it)", file=sys.stderr, flush=True)
            if args.port == 0:
                print(url, flush=True)

        asyncio.run(serve(spec, args.host, args.port, ready))
        return 0


def _speed(group: Any) -> None:
    add = group.add_argument
    add("--tok-s", type=float, help="decode tokens/s of one request (default: as fast as possible)")
    add("--total-tok-s", type=float, help="decode tokens/s of all requests together, shared evenly")
    add("--ttft-ms", type=float, default=0.0, help="time to the first token without prefill")
    add("--prefill-tok-s", type=float, help="prompt tokens/s that are not cached")
    add("--chunk-tokens", type=int, default=1, help="tokens per streamed event")
    add("--draft-tokens", type=int, default=0, help="speculation: drafted tokens per turn")
    add("--acceptance", default="0.7", help="share of drafts accepted; A/B takes turns (bands)")
    add("--band-seconds", type=float, default=5.0, help="how long each acceptance holds")
    add("--slots", type=int, help="requests served at once; further ones wait")


def _cache(group: Any) -> None:
    add = group.add_argument
    add("--block-size", type=int, help="tokens per block (default: the kind's)")
    add("--pool-tokens", type=int, default=1_000_000)
    add("--context-length", type=int, default=131_072)
    add("--spec-backoff", action="store_true", help="reuse stops one block short, as with EAGLE and MTP")


def _reports(group: Any) -> None:
    add = group.add_argument
    add("--no-cached", dest="report_cached", action="store_false", help="usage without cached tokens")
    add("--no-metrics", dest="report_metrics", action="store_false", help="no metrics page")
    add("--no-tool-parser", dest="tool_parser", action="store_false", help="calls stay in the text")
    add("--no-reset", dest="reset_endpoint", action="store_false", help="no cache reset")
    add("--metrics-delay", type=float, default=0.0, help="seconds before a metrics page answers")
    add("--lora", action="append", default=[], help="a further served name with its own cache (repeatable)")
