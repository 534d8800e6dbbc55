"""A table with its heading: data, so that terminal, Markdown and HTML show the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from replayer.lazy import dataclass
from replayer.metrics.shown import DASH

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its heading, and sentences under it; `code` is text to copy."""

    title: str
    head: list[str]
    rows: list[list[str]]
    notes: tuple[str, ...] = ()
    code: str | None = None


def table(
    title: str,
    columns: Mapping[str, Callable[[T], str]],
    items: Iterable[T],
    *notes: str,
    code: str | None = None,
    optional: Collection[str] = (),
) -> Section:
    """A row an item, a cell a column. `optional`: columns that are left out where no item knows them."""
    rows = [[cell(item) for cell in columns.values()] for item in items]
    kept = [
        n for n, head in enumerate(columns) if head not in optional or any(row[n] != DASH for row in rows)
    ]
    head = list(columns)
    return Section(title, [head[n] for n in kept], [[row[n] for n in kept] for row in rows], notes, code)
