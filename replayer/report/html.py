"""The report as one HTML file that needs nothing else: no script, no font, no request leaves it."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from typing import Any

from replayer.journal.view import LaneView
from replayer.metrics.catalogue import COMPARED, METRICS
from replayer.metrics.figures import run_figures
from replayer.metrics.rows import ROWS
from replayer.metrics.run_documents import Pair, RunFigures
from replayer.metrics.shown import chance, figure, interval, signed
from replayer.report import plots
from replayer.report.answers import collapse_examples, turn_browser
from replayer.report.evidence import Evidence
from replayer.report.markup import Child, Html, el, join, table
from replayer.report.plots_load import load_curves
from replayer.report.section import Section
from replayer.report.sections import sections
from replayer.report.table import notes, table_rows

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_MEASURED = (
    (
        "saturation",
        "lowest level within 5 % of the ramp's best throughput; knee: X_max / X_1 (asymptotic bounds)",
    ),
    (
        "speed bands",
        "one-dimensional clustering of speeds, kept where neighbours stand well apart (Ashman's D of 4)",
    ),
    ("server figures", "differences of the engine's own counters, read while the run went on"),
)
_FURTHER = ("tpot_ms.p50", "e2e_ms.p50", "output_tok_s", "requests_per_s", "goodput")


def _measured() -> list[tuple[str, str]]:
    """How each figure was measured, in the catalogue's words."""
    rows = [(row.label.strip(), row.legend) for row in ROWS]
    more = [(METRICS[key].words.partition(" (")[0], METRICS[key].explained) for key in _FURTHER]
    return [*rows, *more, *_MEASURED]


def html_report(evidence: Evidence) -> str:
    """The whole document."""
    document = run_figures(evidence.view)
    title = f"replayer: {document.run}"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Html(files("replayer.report").joinpath("style.css").read_text("utf-8"))),
    )
    return "<!doctype html>\n" + el("html", head, el("body", *_body(evidence, document)), lang="en")


def _body(evidence: Evidence, document: RunFigures) -> list[Child]:
    collapses = collapse_examples(evidence)
    return [
        el("h1", document.run),
        el("p", _subtitle(evidence, document), class_="soft"),
        _summary(document),
        el("h2", "Side by side"),
        table(
            ["", *(lane.lane for lane in document.lanes)],
            [[label, *cells] for label, cells in table_rows(document.lanes)],
        ),
        *(el("p", note, class_="soft") for note in notes(document)),
        *_comparisons(document.comparisons),
        *(_section(section) for section in sections(document)),
        *_plots("Curves", load_curves(document)),
        el("h2", "Turns and faults"),
        plots.grid([plots.usable_turns(document.lanes), plots.faults(document.lanes)]),
        *_plots("Prefix cache", plots.prefix_curves(evidence.view)),
        *_plots(
            "Speed",
            plots.decode_speeds(evidence.view, document.lanes) + plots.distributions(evidence.view),
        ),
        *([el("h2", "Collapses"), collapses] if collapses else []),
        el("h2", "Turns"),
        turn_browser(evidence),
        el("h2", "Environment"),
        _environment(evidence),
        el("h2", "How each figure was measured"),
        el(
            "dl",
            *(el(tag, words) for row in _measured() for tag, words in zip(("dt", "dd"), row, strict=True)),
        ),
    ]


def _section(section: Section) -> Html:
    return join(
        el("h2", section.title),
        table(section.head, [list(row) for row in section.rows]),
        *(el("p", note, class_="soft") for note in section.notes),
        el("pre", section.code) if section.code else None,
    )


def _plots(heading: str, found: list[Html]) -> list[Html]:
    return [el("h2", heading), plots.grid(found)] if found else []


def _subtitle(evidence: Evidence, document: RunFigures) -> str:
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(evidence.view.started_wall))
    return f"{document.mode} history · tools {document.tools} · {document.state} · started {when}"


def _summary(document: RunFigures) -> Html:
    found = document.conclusions
    lanes = [el("li", el("b", lane.verdict), ": ", lane.words) for lane in found.lanes]
    pairs = [
        el("li", pair.words) if pair.tone == "open" else el("li", el("span", pair.words, class_=pair.tone))
        for pair in found.pairs
    ]
    return el(
        "div",
        el("ul", *(el("li", sentence) for sentence in found.sweeps), *lanes),
        el("h3", "Differences") if pairs else None,
        el("ul", *pairs),
        class_="summary",
    )


def _comparisons(pairs: list[Pair]) -> list[Html]:
    if not pairs:
        return []
    rows: list[list[Child]] = [_pair(pair) for pair in pairs]
    head = [
        "lanes",
        "metric",
        "first",
        "second",
        "difference (95 % interval)",
        "p (adjusted)",
        "turns · sessions",
    ]
    methods = sorted({pair.method for pair in pairs})
    return [
        el("h3", "Comparisons"),
        table(head, rows),
        *(el("p", method, class_="soft") for method in methods),
    ]


def _pair(pair: Pair) -> list[Child]:
    metric = COMPARED[pair.metric]
    return [
        f"{pair.a} → {pair.b}",
        metric.words,
        figure(metric, pair.value_a),
        figure(metric, pair.value_b),
        f"{signed(metric, pair.difference)} {metric.unit} ({interval(metric, pair)})",
        chance(pair.p_value_adjusted),
        f"{pair.n_turns} · {pair.n_sessions}",
    ]


def _environment(evidence: Evidence) -> Html:
    view = evidence.view
    versions = ", ".join(f"{version} ({run})" for run, version in evidence.versions.items())
    machine = ", ".join(f"{key} {value}" for key, value in view.environment.items())
    rows = [("replayer", versions), ("machine", machine)]
    rows += [(f"trace {name}", f"sha256 {digest}") for name, digest in sorted(evidence.traces.items())]
    rows += [("plan", _plan(view.plan))]
    return join(_list(rows), *(_lane(lane) for lane in view.lanes))


def _plan(plan: dict[str, Any]) -> str:
    """Lanes and what was left at nothing apart."""
    return json.dumps({key: value for key, value in plan.items() if key != "lane" and value})


def _lane(lane: LaneView) -> Html:
    rows = [("kind · model", f"{lane.kind} · {lane.model or 'unknown'}"), ("address", lane.base_url)]
    rows += [("settings", json.dumps({key: value for key, value in lane.settings.items() if value}))]
    rows += [("reported", json.dumps({key: value for key, value in lane.facts.items() if value}))]
    return join(el("h3", lane.name), _list(rows))


def _list(rows: list[tuple[str, str]]) -> Html:
    return el("dl", *(el(tag, words) for row in rows for tag, words in zip(("dt", "dd"), row, strict=True)))
