"""Vega-Lite from `vl-convert-python`, which the extra `report` brings: the scripts of a page, and pictures as SVG."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replayer.report.charts import Chart


MISSING = "The pictures need the extra `report`: run `pip install 'agent-replayer[report]'`."
_LIGHT = {
    "ink": "#1c1e21", "soft": "#5f6670", "rule": "#d9dce1", "c0": "#2563c9", "c1": "#c2570c", "c2": "#15803d",
    "c3": "#9333a8", "c4": "#0e7490", "c5": "#a16207", "c6": "#be185d", "c7": "#4b5563",
}  # fmt: skip
"""Of style.css, for pictures that stand outside the page."""
_WIDTH = 480


def available() -> bool:
    return find_spec("vl_convert") is not None


@cache
def bundle() -> str:
    """Vega, Vega-Lite and their embedding as one script, which needs no other."""
    import vl_convert

    return vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub lacks the default


def svg(chart: Chart) -> str:
    """A picture on white paper, for documents that carry no scripts."""
    import vl_convert

    words = re.sub(r"var\(--(\w+)\)", lambda match: _LIGHT[match[1]], json.dumps(chart.spec))
    spec = json.loads(words) | {"width": _WIDTH, "background": "white", "padding": 8}
    return vl_convert.vegalite_to_svg(spec)
