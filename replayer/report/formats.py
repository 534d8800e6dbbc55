"""The forms in which a report is written to files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from replayer.lazy import LazyTable

if TYPE_CHECKING:
    from replayer.report.evidence import Evidence

FORMATS = {
    "html": "one HTML page that needs nothing else",
    "markdown": "Markdown for a pull request, with pictures beside it as SVG",
    "csv": "one row per turn and lane",
    "parquet": "the same rows as Apache Parquet (needs the extra agent-replayer[parquet])",
    "junit": "JUnit XML for CI: a suite per lane, a case per session",
}
WRITERS: LazyTable[Callable[[Evidence], str | bytes]] = LazyTable(
    "replayer.report",
    {name: f"{name}:{name}_report" for name in FORMATS} | {"parquet": "csv:parquet_report"},
)

Files = dict[Path, str | bytes]
_SEVERAL: LazyTable[Callable[[Evidence, Path], Files]] = LazyTable(
    "replayer.report", {"markdown": "markdown:markdown_files"}
)


def files(name: str, path: Path, evidence: Evidence) -> Files:
    """One file; a Markdown document has its pictures beside it."""
    return _SEVERAL[name](evidence, path) if name in _SEVERAL else {path: WRITERS[name](evidence)}
