"""The report as Markdown, short enough for a pull request's comment."""

from __future__ import annotations

import re

from replayer.metrics.catalogue import COMPARED
from replayer.metrics.figures import run_figures
from replayer.metrics.run_documents import Pair
from replayer.metrics.shown import figure, interval, signed
from replayer.report.evidence import Evidence
from replayer.report.section import Section
from replayer.report.sections import sections
from replayer.report.table import notes, table_rows, title
from replayer.text import safe

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&$]")
_LINKED = re.compile(r"@|#|:(?=//)|www(?=\.)", re.IGNORECASE)
"""What GitHub makes a mention, a reference or a link of even where it is escaped; a zero-width space stops it."""


def markdown_report(evidence: Evidence) -> str:
    """Conclusions first, the side-by-side table, then the comparisons folded away."""
    document = run_figures(evidence.view)
    found = document.conclusions
    lines = [f"### {words(title(document))}", ""]
    lines += [
        f"- {'' if pair.tone == 'open' else f'**{pair.tone}**: '}{words(pair.words)}" for pair in found.pairs
    ]
    lines += [f"- {words(sentence)}" for sentence in found.sweeps]
    lines += [f"- **{lane.verdict}**: {words(lane.words)}" for lane in found.lanes]
    lines += ["", *_table(["", *(lane.lane for lane in document.lanes)], table_rows(document.lanes))]
    for section in sections(document):
        lines += _section(section)
    lines += ["", *(f"> {words(note)}" for note in notes(document))]
    lines += _comparisons(document.comparisons)
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> list[str]:
    """A table, the sentences under it, and text to copy as a code block."""
    rows = [(words(row[0]), row[1:]) for row in section.rows]
    lines = ["", f"#### {words(section.title)}", "", *_table(section.head, rows), ""]
    lines += [f"{words(note)}  " for note in section.notes]
    return lines + (
        [""] + [f"    {safe(line)}" for line in section.code.splitlines()] if section.code else []
    )


def words(text: str) -> str:
    """One line of plain text: nothing in it is markup, a mention or a link."""
    line = _LINKED.sub(lambda match: f"{match[0]}\u200b", " ".join(safe(text).split()))
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", line)


def _table(head: list[str], rows: list[tuple[str, list[str]]]) -> list[str]:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *([label, *cells] for label, cells in rows)]
    return [
        "| " + " | ".join(cell if number == 1 else words(cell) for cell in line) + " |"
        for number, line in enumerate(lines)
    ]


def _comparisons(pairs: list[Pair]) -> list[str]:
    if not pairs:
        return []
    rows = []
    for pair in pairs:
        metric = COMPARED[pair.metric]
        change = f"{signed(metric, pair.difference)} {metric.unit}, {interval(metric, pair)}"
        cells = [figure(metric, pair.value_a), figure(metric, pair.value_b), change]
        rows.append((f"{pair.a} → {pair.b}: {metric.words}", cells))
    table = _table(["", "first", "second", "difference, 95 %"], rows)
    return ["", "<details><summary>Comparisons</summary>", "", *table, "", "</details>"]
