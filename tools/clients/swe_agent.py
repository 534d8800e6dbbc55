"""SWE-agent with its windowed editor, mini-swe-agent with its one shell, OpenHands with both in its own words."""

from __future__ import annotations

from collections import Counter

from replayer.tools.clients.base import (
    KEEP_ALL,
    Box,
    Client,
    Given,
    ToolFailed,
    edits,
    line_range,
    matching_lines,
    numbered,
    outcome,
    run_kept,
)
from replayer.tools.outcome import ToolOutcome
from replayer.tools.sandbox.types import FileError

WINDOW = 100
MANY = 10_000
SNIPPET_LINES = 4


class MiniSweAgent(Client):
    """Each command runs in a fresh shell."""

    async def run(self, box: Box, given: Given) -> ToolOutcome:
        ran = await box.sandbox.run(
            [*self.shell, box.inward(given.text("command"))], timeout=self.seconds(given)
        )
        code = -1 if ran.exit_code is None else ran.exit_code
        return outcome(ran, f"<returncode>{code}</returncode>\n<output>\n{ran.output}</output>")


class StrReplaceEditor(Client):
    """The editor tool that SWE-agent and OpenHands share: view, create, str_replace, insert, undo_edit."""

    def __init__(self) -> None:
        self.before: dict[str, list[str]] = {}

    async def read(self, box: Box, given: Given) -> str:
        path = given.text("path")
        if await box.sandbox.kind(box.path(path)) == "directory":
            rows = [box.path(path), *await self.paths(box, path, "{*,*/*}")]
            head = (
                f"Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:\n"
            )
            return head + "\n".join(row for row in rows if "/." not in row) + "\n"
        lines = (await box.read(path)).split("\n")
        first, last = line_range(given, len(lines))
        return self.listing(path, lines[first - 1 : last], first)

    def listing(self, what: str, lines: list[str], first: int = 1) -> str:
        return f"Here's the result of running `cat -n` on {what}:\n{numbered(chr(10).join(lines), first)}\n"

    async def write(self, box: Box, given: Given) -> str:
        path = given.text("path")
        if await box.sandbox.kind(box.path(path)) is not None:
            raise ToolFailed(
                f"File already exists at: {path}. Cannot overwrite files using command `create`."
            )
        await box.write(path, given.text("content", ""))
        return f"File created successfully at: {path}"

    async def edit(self, box: Box, given: Given) -> str:
        path = given.text("path")
        text = await box.read(path)
        ((old, new, _),) = edits(given)[:1]
        count = text.count(old) if old else 0
        if count == 0:
            raise ToolFailed(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if count > 1:
            rows = [n for n, line in enumerate(text.split("\n"), 1) if old.split("\n")[0] in line]
            raise ToolFailed(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines {rows}. "
                "Please ensure it is unique"
            )
        place = text.index(old)
        row = text.count("\n", 0, place)
        return await self.changed(box, path, text, text[:place] + new + text[place + len(old) :], row, new)

    async def insert(self, box: Box, given: Given) -> str:
        path, new = given.text("path"), given.text("new")
        text = await box.read(path)
        lines = text.split("\n")
        row = given.number("line")
        if row is None or not 0 <= row <= len(lines):
            raise ToolFailed(f"Invalid `insert_line` parameter: {row}. It should be within [0, {len(lines)}]")
        after = "\n".join([*lines[:row], *new.split("\n"), *lines[row:]])
        return await self.changed(box, path, text, after, row, new)

    async def changed(self, box: Box, path: str, before: str, after: str, row: int, new: str) -> str:
        await box.write(path, after)
        self.before.setdefault(path, []).append(before)
        first = max(0, row - SNIPPET_LINES)
        shown = after.split("\n")[first : row + SNIPPET_LINES + new.count("\n") + 1]
        return (
            f"The file {path} has been edited. {self.listing(f'a snippet of {path}', shown, first + 1)}"
            "Review the changes and make sure they are as expected. Edit the file again if necessary."
        )

    async def undo(self, box: Box, given: Given) -> str:
        path = given.text("path")
        if not self.before.get(path):
            raise ToolFailed(f"No edit history found for {path}.")
        text = self.before[path].pop()
        await box.write(path, text)
        return f"Last edit to {path} undone successfully. {self.listing(path, text.split(chr(10)))}"

    async def finish(self, box: Box, given: Given) -> str:
        return ""

    def file_error(self, error: FileError, given: Given) -> str:
        path = given.get("path")
        if error.kind == "not_found":
            return f"The path {path} does not exist. Please provide a valid path."
        return f"{path}: {error}"


class OpenHands(StrReplaceEditor):
    """One shell for the whole session: folder and variables stay."""

    async def run(self, box: Box, given: Given) -> ToolOutcome:
        if given.get("is_input") in (True, "true"):
            return ToolOutcome("not_executable_here", "no command waits for input after its call", True)
        ran = await run_kept(box, given, self.seconds(given), KEEP_ALL)
        said = f"[The command completed with exit code {ran.exit_code}.]"
        if ran.timed_out:
            said = f"[The command timed out after {self.seconds(given):g} seconds.]"
        return outcome(ran, f"{ran.output.rstrip()}\n{said}".lstrip("\n"))

    def file_error(self, error: FileError, given: Given) -> str:
        return f"ERROR:\n{super().file_error(error, given)}"


class SweAgent(StrReplaceEditor):
    """A file viewer of 100 lines and line edits, beside a shell that keeps folder and variables."""

    def __init__(self) -> None:
        super().__init__()
        self.path: str | None = None
        self.line = 1

    async def run(self, box: Box, given: Given) -> ToolOutcome:
        ran = await run_kept(box, given, self.seconds(given), KEEP_ALL)
        if ran.timed_out:
            return outcome(
                ran, f"The command was cancelled because it took more than {self.seconds(given):g} seconds."
            )
        return outcome(ran, ran.output)

    async def view(self, box: Box, given: Given) -> str:
        """`open` names a file, `goto` a line; the scroll commands have neither and go by their tool's name."""
        if "path" in given.roles:
            path = given.text("path")
            if await box.sandbox.kind(box.path(path)) != "file":
                raise ToolFailed(f"File {path} not found")
            self.path, self.line = path, 1 + WINDOW // 2
        if given.number("line") is not None:
            self.line = given.number("line") or 1
        elif "line" not in given.roles:
            self.line += WINDOW * (-1 if given.tool == "scroll_up" else 1)
        return await self.window(box)

    async def window(self, box: Box) -> str:
        if self.path is None:
            raise ToolFailed("No file open. Use the open command first.")
        lines = (await box.read(self.path)).removesuffix("\n").split("\n")
        self.line = min(max(self.line, 1), len(lines))
        first = max(1, min(self.line - WINDOW // 2, len(lines) - WINDOW + 1))
        last = min(len(lines), first + WINDOW - 1)
        rows = [f"{n}:{lines[n - 1]}" for n in range(first, last + 1)]
        above = [f"({first - 1} more lines above)"] * (first > 1)
        below = [f"({len(lines) - last} more lines below)"] * (last < len(lines))
        head = f"[File: {box.path(self.path)} ({len(lines)} lines total)]"
        return "\n".join([head, *above, *rows, *below])

    async def write(self, box: Box, given: Given) -> str:
        if "content" in given.roles:
            return await super().write(box, given)
        path = given.text("path")
        if await box.sandbox.kind(box.path(path)) is not None:
            raise ToolFailed(f"Error: File '{path}' already exists.")
        await box.write(path, "\n")
        self.path, self.line = path, 1
        return await self.window(box)

    async def edit_lines(self, box: Box, given: Given) -> str:
        if self.path is None:
            raise ToolFailed("No file open. Use the open command first.")
        lines = (await box.read(self.path)).split("\n")
        first, last = given.number("first_line"), given.number("last_line")
        if first is None or last is None or not 1 <= first <= last + 1 <= len(lines) + 1:
            raise ToolFailed(f"Usage: edit <start_line>:<end_line>; the file has {len(lines)} lines")
        new = given.text("new").removesuffix("\n")
        lines[first - 1 : last] = new.split("\n") if new else []
        await box.write(self.path, "\n".join(lines))
        self.line = first
        shown = await self.window(box)
        return (
            f"{shown}\nFile updated. Please review the changes and make sure they are correct "
            "(correct indentation, no duplicate lines, etc). Edit the file again if necessary."
        )

    async def find(self, box: Box, given: Given) -> str:
        where, name = given.text("path", "."), given.text("glob")
        paths = await self.paths(box, where, name)
        if not paths:
            raise ToolFailed(f'No matches found for "{name}" in {box.path(where)}')
        return "\n".join([f'Found {len(paths)} matches for "{name}" in {box.path(where)}:', *paths])

    async def grep(self, box: Box, given: Given) -> str:
        default = (self.path or ".") if given.tool == "search_file" else "."
        where = box.path(given.text("path", default))
        term = given.text("text")
        found = matching_lines((await self.search(box, given, path=where, limit=MANY))[0])
        if not found:
            return f'No matches found for "{term}" in {where}'
        if await box.sandbox.kind(where) == "file":
            rows = [f"Line {row + 1}:{line}" for _, row, line in found]
        else:
            counts = Counter(path for path, _, _ in found)
            rows = [f"{path} ({count} matches)" for path, count in counts.items()]
        head = f'Found {len(found)} matches for "{term}" in {where}:'
        return "\n".join([head, *rows, f'End of matches for "{term}" in {where}'])
