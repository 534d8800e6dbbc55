"""Zed's agent. Shapes of its results as of 2026 (crates/agent/src/tools): page sizes, caps, headings, messages."""

from __future__ import annotations

import re

from replayer.tools.clients.base import (
    Box,
    Client,
    Given,
    ToolFailed,
    edits,
    find_lines,
    line_range,
    numbered,
    unified,
)
from replayer.tools.outcome import ToolOutcome
from replayer.tools.sandbox.types import FileError, Ran

OUTPUT_BYTES = 16 << 10
"""A command shows at most this much of its start; a file larger than this is answered by its outline."""
GREP_PAGE, FIND_PAGE, CONTEXT_LINES = 20, 50, 2


class Zed(Client):
    newest = True
    """Since mid-2026: read_file numbers its lines, edits answer without a diff."""

    async def folder(self, box: Box, cwd: str) -> str:
        where = resolve(box, cwd)
        if await box.sandbox.kind(where) != "directory":
            raise ToolFailed(f'`cd` directory "{cwd}" was not in any of the project\'s worktrees.')
        return where

    def ran_text(self, given: Given, ran: Ran) -> str:
        text, cut = cap(ran)
        block = f"```\n{text}\n```" if text else ""
        if cut:
            block = f"Command output too long. The first {len(text.encode())} bytes:\n\n{block}"
        command = given.get("command")
        if ran.timed_out:
            shown = f" Output captured before timeout:\n\n{block}" if block else " No output was captured."
            return f'Command "{command}" timed out.{shown}'
        if ran.limit:
            return f'Command "{command}" was stopped: it used too much {ran.limit}.\n\n{block}'.rstrip()
        if ran.exit_code:
            return f'Command "{command}" failed with exit code {ran.exit_code}.\n\n{block}'.rstrip()
        return block or "Command executed successfully."

    async def read(self, box: Box, given: Given) -> str:
        path = given.text("path")
        where = resolve(box, path)
        try:
            text = await box.read(where)
        except FileError as error:
            if error.kind == "is_a_directory":
                raise ToolFailed(
                    f"{path} is a directory, not a file. Use the list_directory tool to explore directory contents."
                ) from error
            raise
        ranged = given.number("first_line") is not None or given.number("last_line") is not None
        if len(text) > OUTPUT_BYTES and not ranged:
            return await outline(box, where, path, text)
        lines = text.splitlines(keepends=True)
        first, last = line_range(given, len(lines)) if ranged else (1, len(lines))
        shown = "".join(lines[first - 1 : last])
        return numbered(shown, first) if self.newest else shown

    async def write(self, box: Box, given: Given) -> str:
        path = given.text("path")
        where = resolve(box, path)
        before = await box.read(where) if await box.sandbox.kind(where) is not None else ""
        after = given.text("content", "")
        await box.write(where, after)
        return self.edited(path, before, after)

    async def edit(self, box: Box, given: Given) -> str:
        path = given.text("path")
        where = resolve(box, path)
        raw = await box.read(where)
        # Zed's buffers know only one end of a line; a file gets its own back when it is saved.
        before = text = raw.replace("\r\n", "\n")
        problem = None
        for index, (old, new, _) in enumerate(edits(given)):
            try:
                text = apply(text, old.replace("\r\n", "\n"), new.replace("\r\n", "\n"), index)
            except ToolFailed as failed:
                problem = failed
                break
        if text != before:
            await box.write(where, text.replace("\n", "\r\n") if raw != before else text)
        if problem:
            done = diff_block(path, before, text) if text != before else "No edits were made."
            raise ToolFailed(f"{problem}\n{done}")
        return self.edited(path, before, text)

    def edited(self, path: str, before: str, after: str) -> str:
        if before == after:
            return "No edits were made."
        return f"Edited {path} successfully" if self.newest else diff_block(path, before, after)

    async def list(self, box: Box, given: Given) -> str:
        path = given.text("path")
        where = resolve(box, path)
        inner = box.relative(where)
        entries = await box.sandbox.list(where)
        if path in (".", "", "./", "*") and [kind for _, kind in entries] == ["directory"]:
            return entries[0][0]
        shown = [(f"{inner}/{name}" if inner else name, kind) for name, kind in entries if name != ".git"]
        folders = "\n".join(name for name, kind in shown if kind == "directory")
        files = "\n".join(name for name, kind in shown if kind != "directory")
        if not shown:
            return f"{path} is empty.\n"
        return (f"# Folders:\n{folders}\n" if folders else "") + (f"\n# Files:\n{files}\n" if files else "")

    async def grep(self, box: Box, given: Given) -> str:
        skip = max(0, given.number("skip") or 0)
        files, more = await self.search(
            box, given, limit=GREP_PAGE, skip=skip, before=CONTEXT_LINES, after=CONTEXT_LINES,
            case_sensitive=given.flag("case_sensitive"), prefix=project(box),
        )  # fmt: skip
        parts, count = [], 0
        for path, blocks in files:
            parts.append(f"\n## Matches in {box.relative(path)}\n")
            for start, lines, _ in blocks:
                label = f"L{start + 1}" if len(lines) == 1 else f"L{start + 1}-{start + len(lines)}"
                parts.append(f"\n### {label}\n```\n" + "\n".join(lines) + "\n```\n")
                count += 1
        if not count:
            return "No matches found"
        if more:
            return (
                f"Showing matches {skip + 1}-{skip + count} (there were more matches found; "
                f"use offset: {skip + GREP_PAGE} to see next page):\n" + "".join(parts)
            )
        return f"Found {count} matches:\n" + "".join(parts)

    async def find(self, box: Box, given: Given) -> str:
        skip = max(0, given.number("skip") or 0)
        glob = box.inward(given.text("glob") or "*")
        found = await self.paths(box, box.sandbox.root, glob, prefix=project(box))
        page = found[skip : skip + FIND_PAGE]
        if not page:
            return "No matches found"
        text = f"Found {len(found)} total matches."
        if len(found) > FIND_PAGE:
            text += f"\nShowing results {skip + 1}-{skip + len(page)} (provide 'offset' parameter for more results):"
        return "\n".join([text, *page])

    async def diagnostics(self, box: Box, given: Given) -> str | ToolOutcome:
        """Python syntax only: there is no language server in the sandbox."""
        path = given.text("path", "")
        where = resolve(box, path) if path else box.sandbox.root
        if path and await box.sandbox.kind(where) is None:
            raise ToolFailed(f"Could not find path {path} in project")
        if path and not path.endswith((".py", ".pyi")):
            return ToolOutcome(
                "not_executable_here", f"no language server looks at {path} in the sandbox", True
            )
        found = await box.sandbox.check_syntax(where, seconds=self.search_seconds)
        if not path:
            lines = [f"{box.relative(file)}: 1 error(s), 0 warning(s)" for file, _, _ in found]
            return "\n".join(lines) or "No errors or warnings found in the project."
        lines = [f"error at line {line}: {message}" for _, line, message in found]
        return "\n".join(lines) or "File doesn't have errors or warnings!"

    def file_error(self, error: FileError, given: Given) -> str:
        path = given.get("path") or given.get("source")
        return f"{path} not found" if error.kind == "not_found" else f"{path}: {error}"

    def malformed(self, name: str | None, problem: str) -> str:
        return f"Error parsing input JSON: {problem}"


class OlderZed(Zed):
    newest = False


def project(box: Box) -> str:
    return box.sandbox.root.rsplit("/", 1)[-1]


def resolve(box: Box, path: str) -> str:
    """Zed's paths start with the name of a project root; without it they count from the root itself."""
    mapped = box.inward(path)
    name = project(box)
    if mapped == name or mapped.startswith(f"{name}/"):
        mapped = mapped[len(name) + 1 :] or "."
    return box.sandbox.path(mapped)


def cap(ran: Ran) -> tuple[str, bool]:
    """The first 16 KiB in whole lines."""
    data = ran.head + ran.tail if not ran.dropped else ran.head
    if len(data) <= OUTPUT_BYTES and not ran.dropped:
        return clean(data), False
    kept = data[:OUTPUT_BYTES]
    return clean(kept[: kept.rfind(b"\n") + 1] or kept), True


def clean(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n").strip()


def diff_block(path: str, before: str, after: str) -> str:
    return f"Edited {path}:\n\n```diff\n{unified(before, after)}\n```"


def apply(text: str, old: str, new: str, index: int) -> str:
    """An exact place if there is one, else one that differs in indentation and trailing blanks only."""
    places = occurrences(text, old)
    if len(places) == 1:
        return text[: places[0]] + new + text[places[0] + len(old) :]
    spans = [(text.count("\n", 0, place), 0) for place in places] or loose(text, old)
    if not spans:
        raise ToolFailed(
            f"Could not find matching text for edit at index {index}. The old_text did not match any content "
            "in the file. Please read the file again to get the current content."
        )
    if len(spans) > 1:
        rows = ", ".join(str(row + 1) for row, _ in spans)
        raise ToolFailed(
            f"Edit {index} matched multiple locations in the file at lines: {rows}. Please provide more "
            "context in old_text to uniquely identify the location."
        )
    return replace_lines(text, spans[0], old, new)


def occurrences(text: str, old: str) -> list[int]:
    return [found.start() for found in re.finditer(f"(?={re.escape(old)})", text)] if old else []


def loose(text: str, old: str) -> list[tuple[int, int]]:
    lines, wanted = text.splitlines(), [line.strip() for line in old.strip("\n").splitlines()]
    if not any(wanted):
        return []
    return [(row, len(wanted)) for row in find_lines([line.strip() for line in lines], wanted)]


def replace_lines(text: str, span: tuple[int, int], old: str, new: str) -> str:
    """Put new lines in place of old ones, shifted by the indentation that the old text got wrong."""
    lines = text.splitlines(keepends=True)
    first, count = span
    shift = indent(lines[first]) - indent(old.strip("\n").splitlines()[0])
    fresh = []
    for line in new.strip("\n").splitlines():
        moved = " " * shift + line if shift > 0 else line[min(-shift, indent(line)) :]
        fresh.append(moved + "\n" if line.strip() else "\n")
    return "".join([*lines[:first], *fresh, *lines[first + count :]])


def indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


async def outline(box: Box, where: str, path: str, text: str) -> str:
    symbols = await box.sandbox.outline(where, seconds=Client.search_seconds)
    if not symbols:
        return f"# First 1KB of {path} (file too large to show full content, and no outline available)\n\n{text[:1024]}"
    rows = [f"{' ' * depth}{name} [L{first}-{last}]" for depth, name, first, last in symbols]
    return (
        "SUCCESS: File outline retrieved. The file is too large to read all at once.\n\n"
        "IMPORTANT: Without line numbers this call answers the same outline again; "
        "read a section with start_line and end_line.\n\n"
        f"# File outline for {path}\n\n"
        + "\n".join(rows)
        + f"\n\nShowing symbols 1-{len(rows)} (total symbols: {len(rows)})\n"
    )
