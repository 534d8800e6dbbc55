"""The file that a gate compares with: facts, digests and counts of one run, and no conversation text.

It reads back as the view of a run, so that a gate decides by the same comparison as `compare --baseline RUN`.
"""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from replayer.errors import PlanError
from replayer.journal.sealed import Attempts
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView, RunView
from replayer.signals.tool_reliability import FaultMark
from replayer.wire.types import Json, JsonObject

SCHEMA = 1
MOST_BYTES = 200_000
"""A committed file should stay one that people look at; about 3,000 turns fit as they are, ten times as many packed."""
NAME = "replayer-gate.json"
_PLAN_KEYS = tuple(
    """
    mode tools dialect profile transform differential traces repeat max_turns aa
    """.split()
)
_FACTS = tuple(
    """
    version model kv_cache_dtype_resolved dtype tool_call_parser speculation tp pp dp
    """.split()
)


class _Lane(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: str
    kind: str
    model: str | None
    facts: JsonObject
    settings: JsonObject
    attempts: list[list[Json]]


class _File(BaseModel):
    """`turns` of an attempt are rows of _ROW; in a `packed` file the lanes are zlib in base64."""

    model_config = ConfigDict(extra="ignore")
    replayer_gate: int
    run: str
    started_wall: float
    plan: JsonObject
    traces: dict[str, str]
    margins: dict[str, str] = {}
    times: dict[str, dict[str, list[float]]] = {}
    lanes: list[_Lane] | None = None
    packed: str | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    view: RunView
    traces: dict[str, str]
    """SHA-256 of each trace file, by its label."""
    margins: dict[str, str] = field(default_factory=dict)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By lane and figure, one value for each run of the baseline."""


def write(path: Path, found: Baseline) -> int:
    """Its size in bytes. Raises PlanError where the run is too large for a committed file."""
    view = found.view
    lanes = [_lane_out(lane) for lane in view.lanes]
    document = {
        "replayer_gate": SCHEMA,
        "run": view.run,
        "started_wall": view.started_wall,
        "plan": {key: view.plan.get(key) for key in _PLAN_KEYS},
        "traces": found.traces,
        "margins": found.margins,
        "times": found.times,
        "lanes": lanes,
    }
    text = orjson.dumps(document)
    if len(text) > MOST_BYTES:
        packed = base64.b64encode(zlib.compress(orjson.dumps(lanes), 9)).decode()
        text = orjson.dumps(document | {"lanes": None, "packed": packed})
    if len(text) > MOST_BYTES:
        turns = sum(len(attempt.turns) for lane in view.lanes for attempt in lane.attempts)
        raise PlanError(
            f"a baseline of {turns:,} turns takes {len(text) / 1000:.0f} kB, at most {MOST_BYTES // 1000} are to be "
            "committed: use fewer traces, fewer repeats or --max-turns"
        )
    path.write_bytes(text + b"\n")
    return len(text) + 1


def read(path: Path) -> Baseline:
    """Raises PlanError naming the file and what is wrong with it."""
    try:
        found = _File.model_validate_json(path.read_bytes())
        if found.replayer_gate != SCHEMA:
            raise ValueError(f"its form is {found.replayer_gate}, this replayer reads {SCHEMA}")
        lanes = found.lanes
        if found.packed is not None:
            plain = zlib.decompressobj().decompress(base64.b64decode(found.packed), 64 << 20)
            lanes = [_Lane.model_validate(lane) for lane in orjson.loads(plain)]
        views = tuple(_lane_in(lane, found.run) for lane in lanes or ())
    except FileNotFoundError:
        raise PlanError(f"there is no baseline {path}: `replayer gate init` writes one") from None
    except (OSError, ValueError, ValidationError, zlib.error, IndexError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise PlanError(
            f"{path} is not a baseline of a gate ({first}): `replayer gate init` writes one"
        ) from None
    view = RunView(
        run=found.run, state="finished", mode=found.plan.get("mode") or "recorded",
        tools=found.plan.get("tools") or "recorded", plan=found.plan, environment={}, started_wall=found.started_wall,
        last_at=0, lanes=views, warnings=(), exit_code=None, reasons=(), incomplete=0,
    )  # fmt: skip
    return Baseline(view, found.traces, found.margins, found.times)


def _lane_out(lane: LaneView) -> JsonObject:
    effective = lane.facts.get("effective") or {}
    facts = {key: lane.facts.get(key, effective.get(key)) for key in _FACTS}
    return {
        "name": lane.name,
        "kind": lane.kind,
        "model": lane.model,
        "facts": {key: value for key, value in facts.items() if value is not None},
        "settings": asked(lane),
        "attempts": [_attempt_out(attempt) for attempt in lane.attempts],
    }


def asked(lane: LaneView) -> JsonObject:
    """What requests to the lane ask for, beside the prompt."""
    kept = ("sampling", "extra", "stream", "max_tokens")
    wire = {"wire": lane.plan["wire"]} if lane.plan.get("wire") else {}
    return {key: lane.settings[key] for key in kept if key in lane.settings} | wire


def _attempt_out(attempt: Attempt) -> list[Json]:
    turns = [_turn_out(attempt.turns[number]) for number in sorted(attempt.turns)]
    gaps = [number for pair in sorted(attempt.gaps.items()) for number in pair]
    return [attempt.trace, attempt.repeat, attempt.outcome, turns, gaps]


def _turn_out(turn: TurnFacts) -> list[Json]:
    return [
        turn.turn, turn.usable, turn.calls, turn.invalid_calls, turn.error, int(turn.stopped), int(turn.stalled),
        _us(turn.ttft_ns), _us(turn.total_ns), _us(turn.decode_ns), turn.prompt_tokens, turn.cached_tokens,
        turn.completion_tokens, turn.deltas, [list(mark) for mark in turn.marks], list(turn.tool_outcomes),
        int(turn.held_back), _us(turn.began_ns),
    ]  # fmt: skip


def _us(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // 1000


def _lane_in(lane: _Lane, run: str) -> LaneView:
    attempts = Attempts(_attempt_in(lane.name, row) for row in lane.attempts)
    return LaneView(
        name=lane.name, kind=lane.kind, model=lane.model, base_url="", facts=lane.facts, settings=lane.settings,
        attempts=attempts, running=(), telemetry=(), sessions_planned=len(attempts), sessions_done=len(attempts),
        turns_planned=sum(a.planned for a in attempts), run=run,
    )  # fmt: skip


def _attempt_in(lane: str, row: list[Json]) -> Attempt:
    trace, repeat, outcome, rows, gaps = row
    turns = {found.turn: found for found in map(_turn_in, rows)}
    return Attempt(
        session=f"{lane}/{trace}/{repeat}", number=1, lane=lane, trace=trace, repeat=repeat, planned=len(turns),
        mode="recorded", tools="recorded", cache_reset="unknown", isolation=None, tag=None, started=0, ended=0,
        outcome=outcome, turns=turns, finished=len(turns),
        counted=Counter(dict(zip(gaps[::2], gaps[1::2], strict=True))),
    )  # fmt: skip


def _turn_in(row: list[Json]) -> TurnFacts:
    number, usable, calls, invalid, error, stopped, stalled, ttft, total, decode = row[:10]
    prompt, cached, completion, deltas, marks, outcomes = row[10:16]
    held_back, began = row[16:] or (0, None)
    return TurnFacts(
        turn=number, recorded_turn=number, wall=0.0, usable=usable, calls=calls, invalid_calls=invalid, error=error,
        stopped=bool(stopped), stalled=bool(stalled), ttft_ns=_ns(ttft), total_ns=_ns(total),
        decode_ns=_ns(decode), prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion, deltas=deltas,
        held_back=bool(held_back), began_ns=_ns(began),
        marks=tuple(FaultMark(*mark) for mark in marks), tool_outcomes=tuple(outcomes),
    )  # fmt: skip


def _ns(microseconds: int | None) -> int | None:
    return None if microseconds is None else microseconds * 1000
