"""The patch format of Codex's `apply_patch`: `*** Begin Patch` … `*** End Patch`, hunks found by their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from replayer.tools.clients.base import ToolFailed, find_lines

HEREDOC = re.compile(
    r"^\s*(?:cd\s+(?P<folder>\S+)\s*&&\s*)?apply_patch\s*<<\s*['\"]?(\w+)['\"]?\n(?P<patch>.*)\n\2\s*$",
    re.DOTALL,
)
FILE = re.compile(r"^\*\*\* (Add|Delete|Update) File: (.+)$")


@dataclass(slots=True)
class Hunk:
    """Lines that must be there and lines that take their place; `under` is a line further up that must come first."""

    under: str = ""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Change:
    action: str
    path: str
    to: str | None = None
    added: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)


def parse(text: str) -> list[Change]:
    """Raises ToolFailed for what is not a patch."""
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != "*** Begin Patch":
        raise ToolFailed("Invalid patch: The first line of the patch must be '*** Begin Patch'")
    if lines[-1].strip() != "*** End Patch":
        raise ToolFailed("Invalid patch: The last line of the patch must be '*** End Patch'")
    changes: list[Change] = []
    for line in lines[1:-1]:
        start = FILE.match(line)
        if start:
            changes.append(Change(start[1], start[2].strip()))
        elif not changes:
            raise ToolFailed(f"Invalid patch hunk: '{line}' is not a valid hunk header")
        else:
            take(changes[-1], line)
    return changes


def take(change: Change, line: str) -> None:
    if change.action == "Add":
        change.added.append(line[1:] if line.startswith("+") else line)
    elif line.startswith("*** Move to: "):
        change.to = line[13:].strip()
    elif line.startswith("@@"):
        change.hunks.append(Hunk(line[2:].strip().removesuffix("@@").strip()))
    elif line != "*** End of File":
        if not change.hunks:
            change.hunks.append(Hunk())
        hunk, mark, rest = change.hunks[-1], line[:1], line[1:]
        if mark in (" ", "-", ""):
            hunk.old.append(rest)
        if mark in (" ", "+", ""):
            hunk.new.append(rest)


def applied(text: str, change: Change) -> str:
    """The text after all hunks. Raises ToolFailed naming the lines that were not found."""
    lines = text.split("\n")
    start = 0
    for hunk in change.hunks:
        if hunk.under:
            start = next((n + 1 for n in range(start, len(lines)) if lines[n].strip() == hunk.under), start)
        place = next(places(lines, hunk.old, start), -1)
        if place < 0:
            raise ToolFailed(f"Failed to find expected lines in {change.path}:\n" + "\n".join(hunk.old))
        lines[place : place + len(hunk.old)] = hunk.new
        start = place + len(hunk.new)
    return "\n".join(lines)


def places(lines: list[str], wanted: list[str], start: int) -> Iterator[int]:
    """Where lines stand, first to the letter, then without blanks at the end, then without any around."""
    if not wanted:
        yield len(lines) - (lines[-1] == "")
    for ease in (str, str.rstrip, str.strip) if wanted else ():
        yield from find_lines([ease(line) for line in lines], [ease(line) for line in wanted], start)
