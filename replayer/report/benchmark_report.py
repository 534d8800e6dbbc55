"""llm-d benchmark reports, one per lane, and beside them what they have no place for: `agent_reliability.json`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import orjson

from replayer import __version__
from replayer.errors import MissingPartError
from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView, RunView, load
from replayer.metrics.catalogue import METRICS
from replayer.metrics.documents import LaneFigures
from replayer.metrics.figures import lane_figures
from replayer.report.saving import new_folder, write
from replayer.text import safe
from replayer.wire.types import JsonObject

SIDECAR = "agent_reliability.json"
_SIDECAR_VERSION = "0.1"
_CALLS = ("total", "invalid", "executed", "failed_execution")
_SHARES = {"p0p1": 0.1, "p1": 1, "p5": 5, "p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99,
           "p99p9": 99.9}  # fmt: skip


def export_reports(folders: Sequence[Path], into: Path) -> list[Path]:
    """Write them into a folder; the files. Raises MissingPartError, RunFolderError, ReplayerError."""
    check = _package()
    new_folder(into)
    views = [load(folder) for folder in folders]
    lanes = [(view, lane) for view in views for lane in view.lanes]
    beside: list[JsonObject] = []
    written: list[Path] = []
    for number, (view, lane) in enumerate(lanes, 1):
        path = into / f"benchmark_report_v0.2.1_{number:02}_{_slug(lane.name)}.yaml"
        figures = lane_figures(lane, stopped=view.stopped_early is not None)
        write(path, check(_report(view, lane, figures)))
        written.append(path)
        beside.append(_sidecar(view, figures, path.name))
    document = {
        "schema_version": _SIDECAR_VERSION,
        "tool": "replayer",
        "tool_version": __version__,
        "reports": beside,
    }
    write(into / SIDECAR, orjson.dumps(document, option=orjson.OPT_INDENT_2))
    return [*written, into / SIDECAR]


def _package() -> Callable[[JsonObject], str]:
    """Makes a report's YAML of its values, checked by the package that readers use."""
    try:
        from llmd_benchmark_report import load_benchmark_report
    except ImportError:
        raise MissingPartError(
            "--br needs llmd-benchmark-report: run `pip install 'agent-replayer[exchange]'`"
        ) from None
    return lambda values: str(load_benchmark_report(values).get_yaml_str())


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:60] or "lane"


def _known(values: JsonObject) -> JsonObject:
    """What is unknown has no key."""
    return {key: value for key, value in values.items() if value is not None}


def _report(view: RunView, lane: LaneView, figures: LaneFigures) -> JsonObject:
    turns = [turn for turn in lane.turns if turn.answered]
    uid = hashlib.sha256(
        f"{view.run}\0{lane.name}\0{view.started_wall}".encode("utf-8", "replace")
    ).hexdigest()[:32]
    results = {
        "request_performance": {"aggregate": _requests(turns, figures)},
        "session_performance": _sessions(lane),
    }
    observed = _observed(lane, figures)
    return {
        "version": "0.2.1",
        "run": {
            "uid": uid,
            "eid": safe(view.run),
            "time": _time(turns),
            "description": f"lane {safe(lane.name)}",
        },
        "scenario": {"stack": [_engine(lane, figures)], "load": _load(view, lane, turns)},
        "results": results | ({"observability": observed} if observed else {}),
    }


def _time(turns: Iterable[TurnFacts]) -> JsonObject:
    ends = [(turn.wall, turn.wall + (turn.total_ns or 0) / 1e9) for turn in turns]
    if not ends:
        return {}
    start, end = min(a for a, _ in ends), max(b for _, b in ends)
    start_at, end_at = (datetime.fromtimestamp(at, UTC).isoformat() for at in (start, end))
    return {"start": start_at, "end": end_at, "duration": f"PT{end - start:.3f}S"}


def _engine(lane: LaneView, figures: LaneFigures) -> JsonObject:
    """An `inference_engine` must name its accelerators; where they are not known, it is `generic`."""
    facts = {key: value for key, value in figures.facts.items() if value not in (None, "", [], {})}
    config = {"settings": lane.settings, "facts": facts}
    names = ((figures.server or {}).get("gpu") or {}).get("names") or []
    tp = facts.get("tp") if isinstance(facts.get("tp"), int) else 1
    standard: JsonObject = {"kind": "generic", "model": {"name": safe(lane.model or "unknown")}}
    if names:
        accelerator = {"model": safe(names[0]), "count": tp, "parallelism": {"tp": tp}}
        standard |= {"kind": "inference_engine", "role": "replica", "replicas": 1, "accelerator": accelerator}
    about = {"tool": safe(lane.kind), "tool_version": safe(str(facts.get("version") or "unknown"))}
    return {
        "metadata": {"label": safe(lane.name), "cfg_id": _digest(config)},
        "standardized": standard | about,
        "native": {"config": _plain(config)},
    }


def _load(view: RunView, lane: LaneView, turns: list[TurnFacts]) -> JsonObject:
    prompts = [turn.prompt_tokens for turn in turns if turn.prompt_tokens is not None]
    length: JsonObject = {"distribution": "other", "value": float(np.mean(prompts)) if prompts else 0}
    if prompts:
        length |= {"min": min(prompts), "max": max(1, *prompts)}
    native = {"mode": view.mode, "tools": view.tools, "traces": list(view.plan.get("traces", ()))}
    return {
        "metadata": {"cfg_id": _digest(native)},
        "standardized": {
            "tool": "replayer",
            "tool_version": __version__,
            "source": "sampled",
            "input_seq_len": length,
            "multi_turn": {"enabled": True},
            "concurrency": max(1, int(lane.plan["in_flight"])),
        },
        "native": {"config": _plain(native)},
    }


def _digest(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _plain(value: JsonObject) -> JsonObject:
    found: JsonObject = orjson.loads(orjson.dumps(value, default=str))
    return found


def _stats(values: Iterable[float | None], units: str) -> JsonObject | None:
    """Quantiles of type 7, as everywhere in replayer."""
    known = np.array([value for value in values if value is not None], dtype=float)
    if not known.size:
        return None
    shares = np.percentile(known, list(_SHARES.values()))
    return {
        "units": units,
        "mean": float(known.mean()),
        "stddev": float(known.std(ddof=1)) if known.size > 1 else 0.0,
        "min": float(known.min()),
        "max": float(known.max()),
        **dict(zip(_SHARES, map(float, shares), strict=True)),
    }


def _timed(key: str, turns: Iterable[TurnFacts], units: str) -> JsonObject | None:
    time = METRICS[key].time
    assert time is not None
    return _stats(map(time, turns), units)


def _requests(turns: list[TurnFacts], figures: LaneFigures) -> JsonObject:
    rates = {
        "output_token_rate": (figures.load.output_tok_s, "tokens/s"),
        "request_rate": (figures.load.requests_per_s, "queries/s"),
    }
    requests = {
        "total": len(turns),
        "failures": sum(turn.error is not None for turn in turns),
        "input_length": _stats((turn.prompt_tokens for turn in turns), "count"),
        "output_length": _stats((turn.completion_tokens for turn in turns), "count"),
    }
    latency = {
        "time_to_first_token": _timed("ttft_ms.p50", turns, "ms"),
        "time_per_output_token": _timed("tpot_ms.p50", turns, "ms/token"),
        "request_latency": _timed("e2e_ms.p50", turns, "ms"),
    }
    known = ((name, one) for name, one in rates.items() if one[0] is not None)
    throughput = {name: {"units": units, "mean": value} for name, (value, units) in known}
    return {"requests": _known(requests), "latency": _known(latency), "throughput": throughput}


def _sessions(lane: LaneView) -> JsonObject:
    done = [attempt for attempt in lane.attempts if attempt.complete]
    durations = [(attempt.ended - attempt.started) / 1e9 for attempt in done if attempt.ended is not None]
    sessions = {
        "total": len(lane.attempts),
        "succeeded": len(done),
        "failed": len(lane.attempts) - len(done),
        "total_events": sum(len(attempt.turns) for attempt in lane.attempts),
        "total_events_completed": lane.turns_done,
        "session_duration": _stats(durations, "s"),
        "events_per_session": _stats((float(len(attempt.turns)) for attempt in done), "count"),
    }
    return {"sessions": _known(sessions)}


def _observed(lane: LaneView, figures: LaneFigures) -> JsonObject | None:
    """A hit rate only where the engine reports cached tokens."""
    share = figures.prefix_cache.reported
    if share is None:
        return None
    found = {"cache_hit_rate": {"units": "fraction", "mean": share}}
    return {"components": [{"component_label": safe(lane.name), "aggregate": found}]}


def _sidecar(view: RunView, figures: LaneFigures, report: str) -> JsonObject:
    """The block `agent_reliability` of one report, as it could stand in its `results`."""
    prefix = figures.prefix_cache
    return {
        "report": report,
        "run": safe(view.run),
        "lane": safe(figures.lane),
        "agent_reliability": {
            "history": view.mode,
            "tools": view.tools,
            "sessions": figures.sessions,
            "turns": figures.turns,
            "usable_turns": figures.usable_turn_rate,
            "tool_calls": {key: getattr(figures.tool_calls, key) for key in _CALLS},
            "faults_by_blame": figures.faults_by_blame,
            "collapse": {
                "turns": figures.repetition.collapsed_turns,
                "rate": figures.repetition.rate,
                "wasted_tokens": figures.repetition.wasted_tokens,
            },
            "prefix_reuse": {
                "expected": prefix.ideal,
                "expected_range": prefix.range,
                "reported": prefix.reported,
                "source": prefix.source,
                "cause": prefix.cause,
            },
        },
    }
