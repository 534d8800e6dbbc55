"""A run's report on standard output."""

from __future__ import annotations

from pathlib import Path

import orjson
from rich.console import Console

from replayer.figures import run_figures
from replayer.journal import writer_pid
from replayer.report.table import print_report
from replayer.view import load


def show(folder: Path, *, as_json: bool) -> None:
    """Print the report of a run folder. Raises RunFolderError."""
    document = run_figures(load(folder, running=writer_pid(folder) is not None))
    if as_json:
        print(orjson.dumps(document).decode())
    else:
        print_report(document, Console())
