"""Searching a workspace by content or by path. Runs in a child that can be killed: a regex can take for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from replayer.tools.sandbox.guest.memory import Head

Span = tuple[int, int]
BINARY_PROBE = 8192
LINE_CHARS = 4000
RUST_ONLY = re.compile(r"\(\?|\[[^\]]*[\[&~|]|\\[pPxuUzZhHb<>]")
"""What Rust's patterns, which the clients search with, may have otherwise than Python's."""
SKIPPED = frozenset({".git", ".svn", ".hg", ".jj", "CVS", "__pycache__", "node_modules"})
"""Folders that the search tools of coding clients leave out."""


def grep(head: Head) -> Head:
    """`{"files": [[path, [block, …]]], "more": bool}`, a block being `[first row, [line, …], [matched row, …]]`.

    `skip` and `limit` count as Zed's pages do: skipped are matches, limited are blocks.
    """
    pattern = compiled(head["regex"], re.MULTILINE | (0 if head["case_sensitive"] else re.IGNORECASE))
    by_line = "\n" not in head["regex"] and "\\n" not in head["regex"] and not head.get("multiline")
    globs, types = ([glob_pattern(glob) for glob in head.get(key, [])] for key in ("globs", "types"))
    found: list[Any] = []
    skip, left = head["skip"], head["limit"]
    for path in walk(head["path"]):
        if any(some and not any(matches(glob, path, head) for glob in some) for some in (globs, types)):
            continue
        text = text_of(path)
        spans = match_spans(pattern, text, by_line) if text else []
        if not text or len(spans) <= skip:
            skip -= len(spans)
            continue
        lines = text.split("\n")
        blocks = merged(spans[skip:], head["before"], head["after"], len(lines) - (not lines[-1]))
        skip = 0
        if blocks[:left]:
            hits = {row for first, last in spans for row in range(first, last + 1)}
            found.append([path, [described(lines, *block, hits) for block in blocks[:left]]])
        left -= len(blocks)
        if left < 0:
            return {"files": found, "more": True}
    return {"files": found, "more": False}


def compiled(regex: str, flags: int) -> re.Pattern[str]:
    """Raises re.error."""
    if RUST_ONLY.search(regex):
        from replayer.tools.sandbox.guest.rust_regex import python_pattern  # few searches need it

        regex = python_pattern(regex)
    return re.compile(regex, flags)


def described(lines: list[str], first: int, last: int, hits: set[int]) -> list[Any]:
    shown = [line[:LINE_CHARS] for line in lines[first : last + 1]]
    return [first, shown, [row for row in range(first, last + 1) if row in hits]]


def match_spans(pattern: re.Pattern[str], text: str, by_line: bool) -> list[Span]:
    """First and last row of every match; several in the same rows count once."""
    if by_line:
        return [(row, row) for row, line in enumerate(text.split("\n")) if pattern.search(line)]
    spans: list[Span] = []
    row = position = 0
    for match in pattern.finditer(text):
        row += text.count("\n", position, match.start())
        position = match.start()
        span = (row, row + text.count("\n", match.start(), match.end()))
        if not spans or spans[-1] != span:
            spans.append(span)
    return spans


def merged(spans: list[Span], before: int, after: int, total: int) -> list[Span]:
    blocks: list[Span] = []
    for first, last in spans:
        first, last = max(0, first - before), min(max(total - 1, first), last + after)
        if blocks and blocks[-1][1] >= first:
            blocks[-1] = (blocks[-1][0], max(last, blocks[-1][1]))
        else:
            blocks.append((first, last))
    return blocks


def find(head: Head) -> Head:
    """Paths that match a glob, sorted: `{"paths": […]}`."""
    glob = glob_pattern(head["glob"])
    paths = walk(head["path"], folders=not head.get("files_only"))
    return {"paths": [path for path in paths if matches(glob, path, head)]}


def matches(glob: re.Pattern[str], path: str, head: Head) -> bool:
    """Against the path below the base, the same behind the root's name (`prefix`), and the bare name."""
    inner = os.path.relpath(path, head["path"])
    candidates = [inner, os.path.basename(path)]
    if head.get("prefix"):
        candidates.append(f"{head['prefix']}/{inner}")
    return any(glob.fullmatch(candidate) for candidate in candidates)


def walk(top: str, folders: bool = False) -> Iterator[str]:
    """Depth first in the order of names, as editors and ripgrep's sorted mode list a tree."""
    if not os.path.isdir(top):
        yield top
        return
    for entry in sorted(os.scandir(top), key=lambda entry: entry.name):
        directory = entry.is_dir(follow_symlinks=False)
        if directory and entry.name in SKIPPED:
            continue
        if folders or not directory:
            yield entry.path
        if directory:
            yield from walk(entry.path, folders)


def text_of(path: str) -> str | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    return None if b"\0" in data[:BINARY_PROBE] else data.decode("utf-8", "replace")


def glob_pattern(glob: str) -> re.Pattern[str]:
    """`**` crosses folders, `*` and `?` do not; `[…]` and `{a,b}` as shells have them."""
    pieces, depth, index = [], 0, 0
    while index < len(glob):
        rest, char = glob[index:], glob[index]
        index += 1
        if rest.startswith("**/"):
            pieces.append("(?:.*/)?")
            index += 2
        elif rest.startswith("**"):
            pieces.append(".*")
            index += 1
        elif char == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            pieces.append(char_class(rest[1:end]))
            index += end
        elif char == "{" or (char in ",}" and depth):
            depth += {"{": 1, "}": -1, ",": 0}[char]
            pieces.append({"{": "(?:", ",": "|", "}": ")"}[char])
        else:
            pieces.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
    return re.compile("".join(pieces) + ")" * depth, re.DOTALL)


def char_class(body: str) -> str:
    negated = body[0] in "!^"
    inner = body[negated:].replace("\\", "\\\\").replace("[", "\\[")
    return f"[{'^' if negated else ''}{inner}]"
