"""The report of the runs on the screen as text, exactly as `replayer report` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from replayer.errors import RunFolderError
from replayer.journal.log import writer_pid
from replayer.journal.view import MISFITS, load, misfit
from replayer.metrics.figures import run_figures
from replayer.report.evidence import gather
from replayer.report.html import html_report


def report_words(folders: Sequence[Path], form: str) -> str:
    """`html`, or `json` with one document a line. Raises RunFolderError, and PlanError where modes differ."""
    try:
        if form == "html":
            return html_report(gather(folders))
        views = [load(folder, running=writer_pid(folder) is not None) for folder in folders]
        return "".join(orjson.dumps(run_figures(view)).decode() + "\n" for view in views)
    except MISFITS as error:
        raise misfit(folders[0], error) from error
    except OSError as error:
        raise RunFolderError(f"{folders[0]} cannot be read: {error.strerror}") from error
