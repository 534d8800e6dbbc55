"""A folder that reproduces one turn: what a bug report to an engine's project needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import orjson

from replayer.errors import PlanError, RunFolderError
from replayer.journal.lane_turn import LaneTurn, lane_turn
from replayer.journal.progress import plan_of
from replayer.journal.view import LaneView, RunView, load
from replayer.plan.model import LanePlan, Plan
from replayer.repro.rebuild import Rebuilder, Rebuilt
from replayer.text import markdown, nearest
from replayer.traces.wire_forms import LIST_OF
from replayer.wire.types import PATHS, JsonObject, Request, Wire


@dataclass(frozen=True, slots=True)
class Case:
    """One turn of one lane, and the request built anew."""

    folder: Path
    view: RunView
    plan: Plan
    lane: LaneView
    lane_plan: LanePlan
    trace: str
    repeat: int
    turn: int
    said: LaneTurn
    sent: Rebuilt
    context_length: int | None

    @property
    def body(self) -> bytes:
        return self.sent.body

    @property
    def request(self) -> Request:
        return Request([self.sent.body], stream=self.sent.stream, wire=self.wire)

    @property
    def wire(self) -> Wire:
        """The API that the turn went over."""
        return (self.said.reply or {}).get("wire", "chat")  # type: ignore[no-any-return]

    @property
    def faults(self) -> list[JsonObject]:
        """Those that made the turn unusable; where none did, the warnings."""
        found: list[JsonObject] = (self.said.verdict or {}).get("faults", [])
        return [fault for fault in found if fault["fatal"]] or found


async def find_case(folder: Path, turn: str, lane: str) -> Case:
    """`turn` is N, TRACE/N or TRACE/REPEAT/N, counted from 1 as every report does.

    Raises PlanError for what the run does not hold.
    """
    view, plan = load(folder), plan_of(folder)
    names = [found.name for found in view.lanes]
    if lane not in names:
        raise PlanError(
            f"{lane!r} is not a lane of this run{nearest(lane, names)} (lanes: {', '.join(names)})"
        )
    shown = view.lanes[names.index(lane)]
    labels = sorted({attempt.trace for attempt in shown.attempts}) or list(plan.traces)
    trace, repeat, number = _position(turn, labels)
    said = lane_turn(folder, view, lane, trace, repeat, number)
    if said is None or said.reply is None:
        raise PlanError(f"lane {lane!r} has no answer to turn {number + 1} of {trace}, repeat {repeat + 1}")
    lane_plan = next(one for one in plan.lane if one.name == lane)
    attempt = next(one for one in shown.attempts if (one.trace, one.repeat) == (trace, repeat))
    sent = Rebuilder(folder, plan, shown).request(attempt, number)
    length = shown.facts.get("context_length")
    return Case(folder, view, plan, shown, lane_plan, trace, repeat, number, said, sent, length)


def _position(text: str, traces: list[str]) -> tuple[str, int, int]:
    *where, number = text.split("/")
    repeat = where.pop() if len(where) == 2 else "1"
    if not (number.isdigit() and repeat.isdigit() and int(number) and int(repeat)) or len(where) > 1:
        raise PlanError(f"turn {text!r} is not N, TRACE/N or TRACE/REPEAT/N, counted from 1")
    if not where and len(traces) > 1:
        raise PlanError(
            f"this run has several traces ({', '.join(traces)}); name the turn as {traces[0]}/{number}"
        )
    trace = where[0] if where else traces[0]
    if trace not in traces:
        raise PlanError(f"{trace!r} is not a trace of this run{nearest(trace, traces)}")
    return trace, int(repeat) - 1, int(number) - 1


def write_case(case: Case, out: Path, shrunk: bytes | None = None, summary: str = "") -> None:
    """Fill a new folder. `shrunk` takes the place of the request, which stays as request-full.json."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"{out} cannot be made: {error.strerror}") from None
    body = case.body if shrunk is None else shrunk
    (out / "request.json").write_bytes(body)
    if shrunk is not None:
        (out / "request-full.json").write_bytes(case.body)
    (out / "curl.sh").write_text(_curl(case), "utf-8")
    (out / "repro.py").write_bytes(files("replayer.repro").joinpath("script.py").read_bytes())
    (out / "reply.json").write_bytes(orjson.dumps(case.said.reply, option=orjson.OPT_INDENT_2) + b"\n")
    (out / "verdict.json").write_bytes(orjson.dumps(_verdict(case), option=orjson.OPT_INDENT_2) + b"\n")
    (out / "README.md").write_text(_readme(case, body, summary), "utf-8")
    for script in ("curl.sh", "repro.py"):
        (out / script).chmod(0o755)


def _curl(case: Case) -> str:
    key = f' -H "Authorization: Bearer ${case.lane_plan.api_key_env}"' if case.lane_plan.api_key_env else ""
    return (
        f'#!/bin/sh\ncd "$(dirname "$0")" && curl -sN "${{1:-{_address(case)}}}{PATHS[case.wire]}" '
        f"-H 'Content-Type: application/json'{key} --data-binary @request.json\n"
    )


def _address(case: Case) -> str:
    """Safe inside double quotes of a shell."""
    return shlex.quote(case.lane.base_url).strip("'").replace('"', "").replace("$", "").replace("`", "")


def _verdict(case: Case) -> JsonObject:
    collapse = [
        alarm["finding"] for alarm in case.said.alarms if alarm["finding"].get("level") == "collapsed"
    ]
    return {
        "base_url": case.lane.base_url,
        "path": PATHS[case.wire],
        "api_key_env": case.lane_plan.api_key_env,
        "usable": (case.said.verdict or {}).get("usable"),
        "faults": (case.said.verdict or {}).get("faults", []),
        "collapse": collapse[0] if collapse else None,
        "context_length": case.context_length,
        "signs": signs(case.faults, case.said.reply or {}, collapse[0] if collapse else None),
    }


_LIKENESS = {
    "same": "byte for byte what was sent (SHA-256)",
    "as_long": "as long as what was sent",
    "withheld": "what was sent, but for a secret that the run folder does not keep: put it in for [not kept]",
    "differs": "NOT what was sent: it differs",
}


def _readme(case: Case, body: bytes, summary: str) -> str:
    facts = case.lane.facts
    found = [
        f"- {markdown(fault['klass'])} (blamed on {markdown(str(fault['blame']))}): {markdown(fault['message'])}"
        for fault in case.faults
    ]
    engine = f"{facts.get('kind')} {facts.get('version') or '(version unknown)'}"
    like = _LIKENESS[case.sent.likeness]
    return "\n".join(
        [
            f"# Turn {case.turn + 1} of {markdown(case.trace)}, lane {markdown(case.lane.name)}",
            "",
            f"Engine: {markdown(engine)}, model {markdown(case.lane.model or '?')}",
            "",
            "Found:",
            "",
            *(found or ["- no fault"]),
            "",
            f"- `request.json`: {len(orjson.loads(body)[LIST_OF[case.wire]])} messages, {len(body):,} bytes. "
            + (summary or f"Built anew, {like}."),
            "- `curl.sh [BASE_URL]`: sends it",
            "- `repro.py [BASE_URL]`: sends it with the openai client, keeps the answer in `again.sse`, says whether "
            "the fault shows again (exit code 0) or not (1)",
            "- `reply.json`: the answer as the run kept it; `verdict.json`: the judgement",
            "",
        ]
    )  # fmt: skip


Sign = tuple[str, str, str | int]
"""(fault class, fact of the answer, what that fact must contain)."""

_CAME = {
    "empty_turn": "nothing",
    "bad_call_id": "ids",
    "bad_call_index": "order",
    "parallel_ignored": "several calls",
    "unknown_tool": "a call not offered",
}
_DIFFERS = {
    "silent_drop": ("names",),
    "silent_repair": ("names", "arguments"),
    "stream_differs": ("names", "arguments", "text"),
}
_ERRORS = {"history_rejected": "refused", "engine_error": "broken"}
_MARKED = {"leaked_markup": "text", "call_in_reasoning": "reasoning"}
_MARK = re.compile(r"<[^<>\s]{2,60}>?|\[/?[A-Z_]{4,20}\]|to=functions\.|functools")
_UNITS = 4
"""Repetitions of a collapse's unit that are taken as the same collapse."""


def signs(faults: list[JsonObject], reply: JsonObject, collapse: JsonObject | None) -> list[Sign]:
    """For each fault what showed it in the stored answer; one sign of several is enough."""
    found = ((fault["klass"], *sign) for fault in faults for sign in _of(fault, reply, collapse))
    return [sign for sign in found if sign[2] != ""]


def _of(fault: JsonObject, reply: JsonObject, collapse: JsonObject | None) -> Iterator[tuple[str, str | int]]:
    klass, calls = fault["klass"], reply["tool_calls"]
    ending = f"{reply['finish_reason'] or ''} {'with' if calls else 'without'} a call"
    at = fault["call_index"]
    call = calls[at] if at is not None and at < len(calls) else None
    if klass in _CAME:
        yield "came", _CAME[klass]
    elif klass in _DIFFERS:
        yield from (("differs", what) for what in _DIFFERS[klass])
    elif klass in _ERRORS:
        yield "error", _ERRORS[klass]
    elif klass in _MARKED:
        yield from ((_MARKED[klass], mark) for mark in _marks(fault))
    elif klass == "finish_contradicts":
        yield "came", ending
    elif klass == "truncated":
        yield from _cut(reply, ending)
    elif klass == "protocol":
        message = fault["message"]
        yield "oddities", "no_done" if "[DONE]" in message else message.partition(":")[0]
    elif klass == "choice_ignored":
        yield ("came", "call" if calls else "no call") if call is None or at == 0 else ("names", call["name"])
    elif klass == "collapsed":
        unit = (collapse or {}).get("unit") or ""
        yield from [("spoken", unit * _UNITS)] if unit.strip() else []
    elif call is not None:
        yield "arguments", call["arguments"]
    else:
        yield "text", reply["content"]


def _cut(reply: JsonObject, ending: str) -> Iterator[tuple[str, str | int]]:
    if reply["finish_reason"] in ("length", "max_tokens"):
        yield "came", ending
    elif (made := (reply["usage"] or {}).get("completion_tokens")) is not None:
        yield "tokens", made


def _marks(fault: JsonObject) -> list[str]:
    """The call syntax that a leak was known by; else the start of its text."""
    excerpt = fault["message"].partition(": ")[2]
    return _MARK.findall(excerpt)[:3] or [excerpt.strip("… \n")[:12]]
