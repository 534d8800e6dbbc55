"""The report as one HTML file that needs nothing else: no font and no request leaves it, and only its own scripts run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from itertools import chain

from replayer.journal.view import LaneView
from replayer.metrics.catalogue import METRICS
from replayer.metrics.figures import run_figures
from replayer.metrics.rows import ROWS
from replayer.metrics.run_documents import LaneConclusion, RunFigures
from replayer.report import pictures
from replayer.report.drawings import drawings
from replayer.report.evidence import Evidence
from replayer.report.faults import groups
from replayer.report.sections import comparisons_section, of_load, others
from replayer.report.table import figures_section, notes
from replayer.report.templates import render_page
from replayer.report.turn_table import turn_data
from replayer.wire.types import JsonObject

_MEASURED = (
    (
        "saturation",
        "lowest level within 5 % of the ramp's best throughput; knee: speed-up over one request (asymptotic bounds)",
    ),
    (
        "speed bands",
        "one-dimensional clustering of speeds, kept where neighbours stand well apart (Ashman's D of 4)",
    ),
    ("server figures", "differences of the engine's own counters, read while the run went on"),
)
_FURTHER = ("tpot_ms.p50", "e2e_ms.p50", "output_tok_s", "requests_per_s", "goodput")


def html_report(evidence: Evidence) -> str:
    """The whole document."""
    document = run_figures(evidence.view)
    drawn = drawings(evidence.view, document)
    context = {
        "document": document,
        "story": document.conclusions.story,
        "subtitle": _subtitle(evidence, document),
        "charts": drawn if pictures.available() else dict.fromkeys(drawn, ()),
        "faults": groups(evidence, document),
        "reuse": _reuse(document.conclusions.lanes),
        "bands": [f"{lane.lane}: {lane.bands}" for lane in document.conclusions.lanes if lane.bands],
        "load": list(of_load(document)),
        "more": list(others(document)),
        "figures": figures_section(document),
        "notes": notes(document),
        "pairs": comparisons_section(document.comparisons),
        "methods": sorted({pair.method for pair in document.comparisons}),
        "sentences": document.conclusions.sentences(),
        "environment": _environment(evidence),
        "lanes": [(lane.name, _lane(lane)) for lane in evidence.view.lanes],
        "measured": list(_measured()),
    }
    context["places"] = list(_places(context))
    title, data = f"replayer: {document.run}", turn_data(evidence)
    return render_page("report.html", title, [*chain(*drawn.values())], "turns.js", data=data, **context)


def _places(context: JsonObject) -> Iterator[tuple[str, str]]:
    """What the page has, to jump to."""
    drawn = context["charts"]
    if context["load"] or drawn["load"]:
        yield "load", "Under load"
    if context["faults"] or drawn["faults"]:
        yield "broke", "What broke"
    if context["reuse"] or drawn["prefix"]:
        yield "prefix", "Prefix reuse"
    if drawn["speed"]:
        yield "speed", "Speed"
    yield from (("turns", "Turns"), ("figures", "Every figure"), ("environment", "Environment"))


def _subtitle(evidence: Evidence, document: RunFigures) -> str:
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(evidence.view.started_wall))
    return f"{document.mode} history · tools {document.tools} · {document.state} · started {when}"


def _reuse(lanes: Iterable[LaneConclusion]) -> list[str]:
    """Sentences on the cache, those that are alike together."""
    found: dict[str, list[str]] = {}
    for lane in lanes:
        pressure = lane.pressure if lane.pressure and lane.pressure in lane.words else None
        words = " ".join(filter(None, (lane.reuse, pressure)))
        if words:
            found.setdefault(words, []).append(lane.lane)
    return [f"{', '.join(names)}: {words}" for words, names in found.items()]


def _measured() -> Iterator[tuple[str, str]]:
    """How each figure was measured, in the catalogue's words."""
    yield from ((row.label.strip(), row.legend) for row in ROWS)
    yield from ((METRICS[key].words.partition(" (")[0], METRICS[key].explained) for key in _FURTHER)
    yield from _MEASURED


def _environment(evidence: Evidence) -> list[tuple[str, str]]:
    view = evidence.view
    versions = ", ".join(f"{version} ({run})" for run, version in evidence.versions.items())
    machine = ", ".join(f"{key} {value}" for key, value in view.environment.items())
    traces = [(f"trace {name}", f"sha256 {digest}") for name, digest in sorted(evidence.traces.items())]
    plan = {key: value for key, value in view.plan.items() if key != "lane" and value}
    return [("replayer", versions), ("machine", machine), *traces, ("plan", json.dumps(plan))]


def _lane(lane: LaneView) -> list[tuple[str, str]]:
    return [
        ("kind · model", f"{lane.kind} · {lane.model or 'unknown'}"),
        ("address", lane.base_url),
        ("settings", json.dumps({key: value for key, value in lane.settings.items() if value})),
        ("reported", json.dumps({key: value for key, value in lane.facts.items() if value})),
    ]
