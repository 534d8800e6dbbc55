"""The report as Markdown, short enough for a pull request's comment; pictures beside it as SVG files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from replayer.metrics.figures import run_figures
from replayer.report import pictures
from replayer.report.charts import Chart
from replayer.report.drawings import drawings
from replayer.report.evidence import Evidence
from replayer.report.sections import comparisons_section, sections
from replayer.report.table import figures_section, notes, title
from replayer.report.templates import render_markdown
from replayer.wire.types import JsonObject

_PICTURES = 6


@dataclass(frozen=True, slots=True)
class Picture:
    """`file` is its name beside the document."""

    title: str
    file: Markup
    svg: str


def drawn(evidence: Evidence, stem: str) -> list[Picture]:
    """The first pictures of the HTML report; none where the extra `report` is not installed."""
    if not pictures.available():
        return []
    parts = drawings(evidence.view, run_figures(evidence.view))
    found: Sequence[Chart] = [chart for part in parts.values() for chart in part][:_PICTURES]
    safe_stem = re.sub(r"[^\w.-]", "-", stem)
    return [Picture(one.title, Markup(f"{safe_stem}-{one.key}.svg"), pictures.svg(one)) for one in found]


def markdown_report(evidence: Evidence, shown: Sequence[Picture] = ()) -> str:
    """The story first, the side-by-side table, then the sentences and comparisons folded away."""
    document = run_figures(evidence.view)
    found = document.conclusions
    context: JsonObject = {
        "title": title(document),
        "story": found.story,
        "pictures": shown,
        "figures": figures_section(document),
        "sections": sections(document),
        "notes": notes(document),
        "sentences": found.sentences(),
        "pairs": comparisons_section(document.comparisons),
    }  # fmt: skip
    return render_markdown("report.md", **context)


def markdown_files(evidence: Evidence, path: Path) -> dict[Path, str | bytes]:
    """The document, and its pictures beside it."""
    shown = drawn(evidence, path.stem)
    files: dict[Path, str | bytes] = {path: markdown_report(evidence, shown)}
    files.update((path.with_name(str(one.file)), one.svg) for one in shown)
    return files
