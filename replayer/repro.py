"""A folder that reproduces one step: what a bug report to an engine's project needs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import orjson

from replayer.cell import build_request
from replayer.display import safe
from replayer.engines.detect import ADAPTERS
from replayer.errors import PlanError, RunFolderError
from replayer.history import RecordedHistory
from replayer.lanes import Lane
from replayer.plan import LanePlan, Plan
from replayer.progress import plan_of
from replayer.step_detail import LaneStep, lane_step
from replayer.suggest import nearest
from replayer.traces.reader import Trace
from replayer.transform import load_transform
from replayer.view import LaneView, RunView, load
from replayer.wire.types import Request


@dataclass(frozen=True, slots=True)
class Case:
    """One step of one lane. `exact`: the rebuilt request is as long as the one that was sent."""

    folder: Path
    view: RunView
    plan: Plan
    lane: LaneView
    lane_plan: LanePlan
    trace: str
    repeat: int
    step: int
    said: LaneStep
    request: Request
    exact: bool

    @property
    def body(self) -> bytes:
        return b"".join(bytes(piece) for piece in self.request.body)

    @property
    def faults(self) -> list[dict[str, Any]]:
        """Those that made the turn unusable."""
        verdict = self.said.verdict or {"faults": []}
        return [fault for fault in verdict["faults"] if fault["fatal"]]


async def find_case(folder: Path, step: str, lane: str, *, partial: bool = False) -> Case:
    """`step` is N, TRACE/N or TRACE/REPEAT/N, counted from 1 as every report does. `partial`: of a run that goes on.

    Raises PlanError for what the run does not hold, and for live history, whose requests depend on replies.
    """
    view, plan = load(folder, partial=partial), plan_of(folder)
    if view.mode == "live":
        raise PlanError(
            "repro rebuilds requests with recorded history; this run is live: replay the trace with --mode recorded"
        )
    names = [found.name for found in view.lanes]
    if lane not in names:
        raise PlanError(f"{lane!r} is no lane of this run{nearest(lane, names)} (lanes: {', '.join(names)})")
    shown = view.lanes[names.index(lane)]
    trace, repeat, number = _position(step, list(plan.traces))
    said = lane_step(folder, view, lane, trace, repeat, number)
    if said is None or said.reply is None:
        raise PlanError(f"lane {lane!r} has no answer to step {number + 1} of {trace}, repeat {repeat + 1}")
    lane_plan = next(one for one in plan.lane if one.name == lane)
    request, sent = await _request(folder, plan, shown, lane_plan, trace, repeat, number)
    return Case(
        folder, view, plan, shown, lane_plan, trace, repeat, number, said, request, request.content_length == sent
    )  # fmt: skip


def _position(text: str, traces: list[str]) -> tuple[str, int, int]:
    *where, number = text.split("/")
    repeat = where.pop() if len(where) == 2 else "1"
    if not (number.isdigit() and repeat.isdigit() and int(number) and int(repeat)) or len(where) > 1:
        raise PlanError(f"step {text!r} is not N, TRACE/N or TRACE/REPEAT/N, counted from 1")
    if not where and len(traces) > 1:
        raise PlanError(
            f"this run has several traces ({', '.join(traces)}); name the step as {traces[0]}/{number}"
        )
    trace = where[0] if where else traces[0]
    if trace not in traces:
        raise PlanError(f"{trace!r} is no trace of this run{nearest(trace, traces)}")
    return trace, int(repeat) - 1, int(number) - 1


async def _request(
    folder: Path, plan: Plan, lane: LaneView, lane_plan: LanePlan, trace: str, repeat: int, step: int
) -> tuple[Request, int]:
    """The request built anew as the runner built it, and how many bytes were sent then."""
    path = next((folder / "traces" / trace).glob("trace.jsonl*"), None)
    if path is None:
        raise RunFolderError(f"{folder} holds no copy of the trace {trace!r}")
    history = RecordedHistory(Trace.open(path), plan.dialect, profile_name=plan.profile)
    attempt = next(one for one in lane.attempts if (one.trace, one.repeat) == (trace, repeat))
    facts = attempt.steps[step]
    name = f"{folder.name}/{trace}/{repeat}/{attempt.number}"
    marker = f"\n\n[session {name}]" if attempt.isolation == "marker" else None
    async with httpx.AsyncClient() as unused:
        engine = ADAPTERS[lane.facts["kind"]](lane.base_url, unused)
        fields = Lane(lane_plan, [], lane.model or "").fields(engine, plan.max_tokens)
        fields |= engine.isolation(name) if attempt.isolation == "salt" else {}
    if plan.transform is None:
        return history.request(facts.turn, fields, marker=marker, stream=lane_plan.stream), facts.body_bytes
    messages = load_transform(plan.transform)(history.messages(facts.turn, marker=marker))
    return build_request(history, facts.turn, messages, fields, lane_plan.stream), facts.body_bytes


def write_case(case: Case, out: Path, shrunk: bytes | None = None, told: str = "") -> None:
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
    (out / "repro.py").write_bytes(files("replayer").joinpath("repro_script.py").read_bytes())
    (out / "reply.json").write_bytes(orjson.dumps(case.said.reply, option=orjson.OPT_INDENT_2) + b"\n")
    (out / "verdict.json").write_bytes(orjson.dumps(_verdict(case), option=orjson.OPT_INDENT_2) + b"\n")
    (out / "README.md").write_text(_readme(case, body, told), "utf-8")
    for script in ("curl.sh", "repro.py"):
        (out / script).chmod(0o755)


def _curl(case: Case) -> str:
    key = f' -H "Authorization: Bearer ${case.lane_plan.api_key_env}"' if case.lane_plan.api_key_env else ""
    return (
        f'#!/bin/sh\ncd "$(dirname "$0")" && curl -sN "${{1:-{_address(case)}}}/chat/completions" '
        f"-H 'Content-Type: application/json'{key} --data-binary @request.json\n"
    )


def _address(case: Case) -> str:
    """Safe inside double quotes of a shell."""
    return shlex.quote(case.lane.base_url).strip("'").replace('"', "").replace("$", "").replace("`", "")


def _verdict(case: Case) -> dict[str, Any]:
    collapse = [
        alarm["finding"] for alarm in case.said.alarms if alarm["finding"].get("level") == "collapsed"
    ]
    return {
        "base_url": case.lane.base_url,
        "api_key_env": case.lane_plan.api_key_env,
        "usable": (case.said.verdict or {}).get("usable"),
        "faults": (case.said.verdict or {}).get("faults", []),
        "collapse": collapse[0] if collapse else None,
    }


def _readme(case: Case, body: bytes, told: str) -> str:
    facts = case.lane.facts
    found = [
        f"- {fault['klass']} (blamed on {fault['blame']}): {_line(fault['message'])}" for fault in case.faults
    ]
    exact = "as long as what was sent" if case.exact else "NOT as long as what was sent: it may differ"
    return "\n".join(
        [
            f"# Step {case.step + 1} of {case.trace}, lane {case.lane.name}",
            "",
            f"Engine: {facts.get('kind')} {facts.get('version') or '(version unknown)'}, model {_line(case.lane.model or '?')}",
            "",
            "Found:",
            "",
            *(found or ["- nothing that made the turn unusable"]),
            "",
            f"- `request.json`: {len(orjson.loads(body)['messages'])} messages, {len(body):,} bytes. "
            + (told or f"Built anew from the trace, {exact}."),
            "- `curl.sh [BASE_URL]`: sends it",
            "- `repro.py [BASE_URL]`: sends it with the openai client, keeps the answer in `again.sse`, says whether "
            "the fault shows again (exit code 0) or not (1)",
            "- `reply.json`: the answer as the run kept it; `verdict.json`: the judgement",
            "",
        ]
    )  # fmt: skip


def _line(text: str) -> str:
    return " ".join(safe(text).split())
