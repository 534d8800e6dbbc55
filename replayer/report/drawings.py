"""Which charts stand in which part of a report."""

from __future__ import annotations

from replayer.journal.view import RunView
from replayer.metrics.run_documents import RunFigures
from replayer.report import charts, charts_load
from replayer.report.charts import Chart
from replayer.text import safe


def drawings(view: RunView, document: RunFigures) -> dict[str, list[Chart]]:
    """The charts of each part of the page; a load plan has a part of its own instead of a chart a level."""
    lanes, story = document.lanes, document.conclusions.story
    swept = bool(document.saturation)
    load = charts_load.load(document)
    names = charts.short_names([safe(lane.lane) for lane in lanes])
    drawn = {
        "standing": load[:1] if swept else charts.standing(story.standings, [lane.lane for lane in lanes]),
        "load": load[1:] if swept else load,
        "faults": charts.faults(lanes),
        "prefix": [] if swept else charts.prefix(lanes),
        "speed": [] if swept else [*charts.distributions(view), *charts.speeds(view, lanes), *charts.acceptance(view)],
    }  # fmt: skip
    return {part: [charts.relabelled(one, names) for one in some] for part, some in drawn.items()}
