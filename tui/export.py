"""The report of the runs on the screen as text, exactly as `replayer report` writes it.

Raises RunFolderError, and PlanError where modes differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from replayer.errors import RunFolderError
from replayer.journal.log import writer_pid
from replayer.journal.view import MISFITS, load, misfit
from replayer.metrics.figures import run_figures
from replayer.report.evidence import gather
from replayer.report.formats import WRITERS


def html_words(folders: Sequence[Path]) -> str | bytes:
    with _readable(folders):
        return WRITERS["html"](gather(folders))


def json_words(folders: Sequence[Path]) -> str:
    """One document a line."""
    with _readable(folders):
        views = [load(folder, running=writer_pid(folder) is not None) for folder in folders]
        return "".join(orjson.dumps(run_figures(view)).decode() + "\n" for view in views)


@contextmanager
def _readable(folders: Sequence[Path]) -> Iterator[None]:
    try:
        yield
    except MISFITS as error:
        raise misfit(folders[0], error) from error
    except OSError as error:
        raise RunFolderError(f"{folders[0]} cannot be read: {error.strerror}") from error
