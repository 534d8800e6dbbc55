"""What a large file holds, and which Python files do not parse. Runs in a child that can be killed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from replayer.tools.sandbox.guest.memory import Head
from replayer.tools.sandbox.guest.search import text_of, walk

Symbol = tuple[int, str, int, int]
DEFINITION = re.compile(
    r"^(\s*)((?:export\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+)*"
    r"(?:class|def|fn|func|function|interface|struct|enum|trait|impl|mod|namespace|type|module)\s+[\w:<>.*]+)"
)
HEADING = re.compile(r"^(#{1,6})\s+(.*)")


def outline(head: Head) -> Head:
    """`{"symbols": [[depth, name, first line, last line], …]}`, lines from 1."""
    import ast  # costs milliseconds that most sandboxes never need

    text = text_of(head["path"]) or ""
    if head["path"].endswith(".py"):
        try:
            return {"symbols": list(python_symbols(ast.parse(text)))}
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return {"symbols": line_symbols(text.splitlines(), head["path"].endswith((".md", ".markdown")))}


def python_symbols(node: Any, depth: int = 0) -> Iterator[Symbol]:
    words = {"ClassDef": "class", "FunctionDef": "def", "AsyncFunctionDef": "async def"}
    for child in getattr(node, "body", []):
        word = words.get(type(child).__name__)
        if word:
            yield depth, f"{word} {child.name}", child.lineno, child.end_lineno
        yield from python_symbols(child, depth + bool(word))


def line_symbols(lines: list[str], markdown: bool) -> list[Symbol]:
    """By headings or by lines that look like a definition; a symbol ends where the next of its depth begins."""
    starts = []
    for number, line in enumerate(lines, 1):
        if markdown and (heading := HEADING.match(line)):
            starts.append((len(heading[1]) - 1, line.strip(), number))
        elif not markdown and (found := DEFINITION.match(line)):
            starts.append((len(found[1].expandtabs(4)) // 4, found[2].strip(), number))
    symbols = []
    for place, (depth, name, first) in enumerate(starts):
        ends = [number for other, _, number in starts[place + 1 :] if other <= depth]
        symbols.append((depth, name, first, (ends[0] - 1) if ends else len(lines)))
    return symbols


def check_syntax(head: Head) -> Head:
    """`{"faults": [[path, line, message], …]}` of the Python files at or below a path."""
    import ast

    faults = []
    for path in walk(head["path"]):
        text = text_of(path) if path.endswith((".py", ".pyi")) else None
        if text is None:
            continue
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            faults.append([path, getattr(error, "lineno", None) or 1, getattr(error, "msg", str(error))])
    return {"faults": faults}
