"""A run's report on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replayer.journal.log import writer_pid
from replayer.journal.several_runs import side_by_side
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from replayer.report.table import print_report
from replayer.text import console, print_json


def show_together(folders: Sequence[Path], *, as_json: bool) -> None:
    """Several runs as one report: all their lanes beside each other, and models by engines where models differ.

    Raises RunFolderError, and PlanError where the runs cannot be set side by side.
    """
    views = [load(folder, running=writer_pid(folder) is not None) for folder in folders]
    document = run_figures(side_by_side(views))
    if as_json:
        print_json(document)
    else:
        print_report(document, console())


def show(folder: Path, *, as_json: bool) -> None:
    """Print the report of a run folder. Raises RunFolderError."""
    document = run_figures(load(folder, running=writer_pid(folder) is not None))
    if as_json:
        print_json(document)
    else:
        print_report(document, console(), str(folder))
