"""Write a folder that reproduces one turn of one lane: the exact request, a curl line, a script with the openai
client, the answer and the verdict. TURN is N, TRACE/N or TRACE/REPEAT/N, counted from 1. With --shrink the history
is cut down, against the lane's engine, as far as the fault stays. Examples:

  replayer repro last fix-failing-test/7 vllm -o bug --shrink --issue vllm
  replayer repro last 3 a -o turn-3
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

import httpx
import orjson

from replayer.commands.flags import flag
from replayer.errors import PlanError
from replayer.journal.log import find_run
from replayer.repro.folder import Case, find_case, write_case
from replayer.repro.issue import PROJECTS, blamed_elsewhere, issue, of_case
from replayer.repro.shrink import OutOfBudget, Probe, shrink
from replayer.run.lanes import open_lane
from replayer.traces.wire_forms import LIST_OF
from replayer.wire.types import PATHS, JsonObject

_ANSWER_S, _ANSWER_BYTES = 120, 4 << 20
"""A report needs one answer, not a whole collapse."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="run folder, its name, or last")
    parser.add_argument("turn", metavar="TURN")
    parser.add_argument("lane", metavar="LANE")
    flag(parser, "-o, --out DIR", "new folder (default: repro-LANE-TURN)", type=Path)
    flag(parser, "--shrink", "cut the history down while the fault stays")
    flag(parser, "--budget N", "most requests for --shrink (60)", type=int, default=60)

    flag(
        parser,
        "--issue",
        "write ISSUE.md, a report in that project's form, redacted; asks the server once",
        choices=PROJECTS,
    )


def run(args: argparse.Namespace) -> int:
    out = args.out or Path(f"repro-{args.lane}-{args.turn.replace('/', '-')}")
    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise PlanError(f"{out} exists already; name another folder with -o")
    asyncio.run(_reproduce(args, out))
    print(out)
    return 0


async def _reproduce(args: argparse.Namespace, out: Path) -> None:
    case = await find_case(find_run(args.run), args.turn, args.lane)
    body, summary = await _shrunk(case, args.budget) if args.shrink else (None, "")
    if summary:
        print(summary, file=sys.stderr)
    write_case(case, out, body, summary)
    if args.issue:
        doubt = blamed_elsewhere(case)
        if doubt:
            print(f"note: {doubt}", file=sys.stderr)
        sent = body or case.body
        raw = await _answer(case, sent)
        if raw is not None:
            (out / "answer.raw").write_bytes(raw)
        (out / "ISSUE.md").write_text(issue(of_case(case, sent, raw), args.issue), "utf-8")


async def _answer(case: Case, body: bytes) -> bytes | None:
    """The bytes of one answer, an error's too; None where the server is not there."""
    plan = case.lane_plan
    key = os.environ.get(plan.api_key_env or "")
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        async with httpx.AsyncClient(timeout=_ANSWER_S, trust_env=False) as client:
            answer = client.stream(
                "POST", case.lane.base_url + PATHS[case.wire], content=body, headers=headers
            )
            async with answer as response:
                raw = b""
                async for piece in response.aiter_bytes():
                    raw += piece
                    if len(raw) > _ANSWER_BYTES:
                        break
                return raw
    except (httpx.HTTPError, httpx.InvalidURL):
        return None


async def _shrunk(case: Case, budget: int) -> tuple[bytes | None, str]:
    """The shorter body, None where the fault did not show again; and a sentence on it."""
    wanted = frozenset(fault["klass"] for fault in case.faults)
    if not wanted:
        raise PlanError("--shrink keeps a fault, and this turn has none that made it unusable")
    body: JsonObject = orjson.loads(case.body)
    with tempfile.TemporaryDirectory() as logs:
        traces = sorted((case.folder / "traces").glob("*/trace.jsonl*"))
        lane = await open_lane(case.lane_plan, Path(logs), trace_paths=traces)
        try:
            probe = Probe(lane.instances[0].client, body, wanted, budget, wire=case.wire)
            return await _search(probe, body, sorted(wanted))
        finally:
            await lane.close()


async def _search(probe: Probe, body: JsonObject, names: list[str]) -> tuple[bytes | None, str]:
    key = LIST_OF[probe.wire]
    before = len(body[key])
    try:
        again = await probe.shows(body[key]) or await probe.shows(body[key])
    except OutOfBudget:
        again = False
    if not again:
        return (
            None,
            f"Not shrunk: {', '.join(names)} did not show again in {probe.sent} tries of the whole request.",
        )
    messages = await shrink(body[key], probe.shows)
    if len(messages) == before:
        return None, f"Not shrunk: no shorter history showed {', '.join(names)} in {probe.sent} requests."
    summary = f"Shrunk from {before} to {len(messages)} messages with {probe.sent} requests while {', '.join(names)} stayed."
    return orjson.dumps(body | {key: messages}), summary
