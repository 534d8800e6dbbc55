"""A table with its heading: data, so that terminal, Markdown and HTML show the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A table with its heading, and sentences under it; `code` is text to copy."""

    title: str
    head: list[str]
    rows: list[list[str]]
    notes: tuple[str, ...] = ()
    code: str | None = None
