"""The report as one HTML file that needs nothing else: no script, no font, no request leaves it."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from typing import Any

from replayer.journal.view import LaneView
from replayer.metrics.catalogue import ALL
from replayer.metrics.conclusions import plain, signed
from replayer.metrics.figures import run_figures
from replayer.report import plots
from replayer.report.answers import collapse_examples, turn_browser
from replayer.report.evidence import Evidence
from replayer.report.markup import Child, Html, el, join, table
from replayer.report.plots_load import load_curves
from replayer.report.sections import Section, sections
from replayer.report.summary import conclude, few_sessions
from replayer.report.table import notes, table_rows

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

MEASURED = [
    ("usable turns", "a turn is usable when every call is valid, or there is none and the answer is not empty, and it neither collapsed nor was cut; interval: Wilson 95 %"),
    ("tool calls", "checked here against the JSON Schema sent with the request; executed only in a sandbox"),
    ("collapsed turns", "our own detector on the streamed text; wasted tokens are characters after the onset over four"),
    ("prefix cache", "reported: cached tokens of the engine's usage; possible: longest prefix shared with what the lane had seen, in whole blocks"),
    ("TTFT", "our clock, from sending the request to the first delta with text"),
    ("between deltas", "our clock, between deltas with text; with speculation one delta holds several tokens"),
    ("decode speed", "tokens after the first delta over the time from it to the end of the stream, each reply apart"),
    ("TPOT", "time per output token after the first: (whole time - TTFT) / (tokens - 1), each reply apart"),
    ("output tok/s of a lane, requests/s", "over the time in which at least one of its requests was in flight"),
    ("goodput", "requests per second that kept every limit of the plan's slo (DistServe, OSDI 2024)"),
    ("saturation", "lowest level within 5 % of the ramp's best throughput; knee: X_max / X_1 (asymptotic bounds)"),
    ("prefill speed", "prompt tokens not taken from the cache over TTFT"),
    ("draft acceptance", "the engine's counts per request where it gives them, else its metrics over the run"),
    ("speed bands", "one-dimensional clustering of speeds, kept where neighbours stand well apart (Ashman's D of 4)"),
    ("server figures", "differences of the engine's own counters, read while the run went on"),
]  # fmt: skip


def html_report(evidence: Evidence) -> str:
    """The whole document."""
    document = run_figures(evidence.view)
    title = f"replayer: {document['run']}"
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


def _body(evidence: Evidence, document: dict[str, Any]) -> list[Child]:
    collapses = collapse_examples(evidence)
    return [
        el("h1", document["run"]),
        el("p", _subtitle(evidence, document), class_="soft"),
        _summary(document),
        el("h2", "Side by side"),
        table(
            ["", *(lane["lane"] for lane in document["lanes"])],
            [[label, *cells] for label, cells in table_rows(document["lanes"])],
        ),
        *(el("p", note, class_="soft") for note in notes(document)),
        *_comparisons(document["comparisons"]),
        *(_section(section) for section in sections(document)),
        *_plots("Curves", load_curves(document)),
        el("h2", "Turns and faults"),
        plots.grid([plots.usable_turns(document["lanes"]), plots.faults(document["lanes"])]),
        *_plots("Prefix cache", plots.prefix_curves(evidence.view)),
        *_plots(
            "Speed",
            plots.decode_speeds(evidence.view, document["lanes"]) + plots.distributions(evidence.view),
        ),
        *([el("h2", "Collapses"), collapses] if collapses else []),
        el("h2", "Turns"),
        turn_browser(evidence),
        el("h2", "Environment"),
        _environment(evidence),
        el("h2", "How each figure was measured"),
        el("dl", *(el(tag, words) for row in MEASURED for tag, words in zip(("dt", "dd"), row, strict=True))),
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


def _subtitle(evidence: Evidence, document: dict[str, Any]) -> str:
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(evidence.view.started_wall))
    return f"{document['mode']} history · tools {document['tools']} · {document['state']} · started {when}"


def _summary(document: dict[str, Any]) -> Html:
    said = conclude(document)
    found = [el("li", el("span", sentence, class_=tone), ".") for tone, sentence in said.found]
    few = (
        "Fewer than six sessions: differences hold for these sessions only."
        if few_sessions(document)
        else None
    )
    return el(
        "div",
        el("ul", *(el("li", sentence) for sentence in said.lanes)),
        el("h3", "Differences") if document["comparisons"] else None,
        el("ul", *found, *(el("li", sentence) for sentence in said.open)),
        el("p", few, class_="soft") if few else None,
        class_="summary",
    )


def _comparisons(pairs: list[dict[str, Any]]) -> list[Html]:
    if not pairs:
        return []
    rows: list[list[Child]] = [_pair(pair) for pair in pairs]
    head = ["lanes", "metric", "first", "second", "difference (95 % interval)", "p, Holm", "turns · sessions"]
    methods = sorted({pair["method"] for pair in pairs})
    return [
        el("h3", "Comparisons"),
        table(head, rows),
        *(el("p", method, class_="soft") for method in methods),
    ]


def _pair(pair: dict[str, Any]) -> list[Child]:
    p = pair.get("p_value_adjusted", pair["p_value"])
    unit = ALL[pair["metric"]].unit
    return [
        f"{pair['a']} → {pair['b']}",
        ALL[pair["metric"]].words,
        plain(pair, "value_a"),
        plain(pair, "value_b"),
        f"{signed(pair, 'difference')} {unit} ({signed(pair, 'low')} to {signed(pair, 'high')})",
        "–" if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001",
        f"{pair['n_turns']} · {pair['n_sessions']}",
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
