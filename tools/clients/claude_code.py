"""Claude Code. Shapes of its results as recorded by versions 2.0 and 2.1."""

from __future__ import annotations

from replayer.tools.clients.base import (
    Box,
    Client,
    Given,
    ToolFailed,
    edits,
    matching_lines,
    numbered,
    outcome,
    run_kept,
)
from replayer.tools.outcome import ToolOutcome
from replayer.tools.sandbox.types import FileError, Matches

READ_LINES, LINE_CHARS, OUTPUT_CHARS, GLOB_PAGE = 2000, 2000, 30_000, 100
MANY = 100_000
TYPES = {
    "c": "*.[ch]", "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h,inl}", "css": "*.{css,scss}", "go": "*.go",
    "html": "*.{htm,html,ejs}", "java": "*.{java,jsp,jspx,properties}", "js": "*.{js,jsx,mjs,cjs,vue}",
    "json": "*.json", "kotlin": "*.{kt,kts}", "md": "*.{md,markdown,mdown,mdwn,mdx,mkd,mkdn}",
    "php": "*.{php,php3,php4,php5,php7,php8,phtml}", "py": "*.{py,pyi}", "ruby": "*.{rb,rbw,gemspec,rake}",
    "rust": "*.rs", "sh": "*.{sh,bash,zsh,ksh,csh,tcsh}", "swift": "*.swift", "toml": "*.toml",
    "ts": "*.{ts,tsx,mts,cts}", "txt": "*.txt", "xml": "*.{xml,xsd,xsl,xslt,dtd,rng,sch,xhtml}",
    "yaml": "*.{yml,yaml}",
}  # fmt: skip
"""ripgrep's file types, those that agents ask for."""


class ClaudeCode(Client):
    """Errors come in `<tool_use_error>` tags; the shell keeps its folder."""

    async def run(self, box: Box, given: Given) -> ToolOutcome:
        if given.arguments.get("run_in_background") is True:
            return ToolOutcome("not_executable_here", "background commands do not outlive their call", True)
        seconds = self.seconds(given)
        ran = await run_kept(box, given, seconds)
        text = shortened(ran.output.strip("\n"))
        if ran.timed_out:
            minutes, rest = divmod(int(seconds), 60)
            spoken = f"{minutes}m {rest}s" if minutes else f"{rest}s"
            return outcome(ran, f"Command timed out after {spoken} {text}".rstrip(), True)
        if ran.exit_code != 0:
            return outcome(ran, f"Exit code {ran.exit_code}\n{text}".rstrip(), True)
        return outcome(ran, text)

    async def read(self, box: Box, given: Given) -> str:
        lines = (await box.read(given.text("path"))).split("\n")
        if lines == [""]:
            return "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
        first = max(1, given.number("first_line") or 1)
        shown = lines[first - 1 : first - 1 + (given.number("limit") or READ_LINES)]
        return numbered("\n".join(line[:LINE_CHARS] for line in shown), first, "→")

    async def write(self, box: Box, given: Given) -> str:
        path, text = given.text("path"), given.text("content")
        if await box.write(path, text):
            return f"File created successfully at: {path}"
        return f"The file {path} has been updated. {SNIPPET}\n{numbered(text, 1, '→')}"

    async def edit(self, box: Box, given: Given) -> str:
        path = given.text("path")
        many = edits(given)
        if len(many) == 1 and many[0][0] == "" and await box.sandbox.kind(box.path(path)) is None:
            await box.write(path, many[0][1])
            return f"File created successfully at: {path}"
        text = await box.read(path)
        for old, new, everywhere in many:
            text = exchanged(text, old, new, everywhere)
        await box.write(path, text)
        return f"The file {path} has been updated successfully."

    async def find(self, box: Box, given: Given) -> str:
        found = await self.paths(box, given.text("path", "."), given.text("glob"), files_only=True)
        if not found:
            return "No files found"
        more = ["(Results are truncated. Consider using a more specific path or pattern.)"]
        return "\n".join(found[:GLOB_PAGE] + more * (len(found) > GLOB_PAGE))

    async def grep(self, box: Box, given: Given) -> str:
        mode = given.text("output_mode", "files_with_matches")
        around = given.number("context") or 0
        before, after = given.number("before") or around, given.number("after") or around
        if mode != "content":
            before = after = 0
        ignoring = given.flag("ignore_case")
        found, _ = await self.search(
            box, given, limit=MANY, case_sensitive=not ignoring, before=before, after=after,
            multiline=given.flag("multiline"), types=file_types(given.text("type", "")),
        )  # fmt: skip
        paths = [box.relative(path) for path, _ in found]
        if not paths:
            return "No matches found" if mode == "content" else "No files found"
        limit = given.number("limit") or None
        if mode == "content":
            single = await box.sandbox.kind(box.path(given.text("path", "."))) == "file"
            lines = content_lines(found, box, single, bool(before or after))
            return "\n".join(lines[:limit])
        if mode == "count":
            counts = {path: 0 for path, _ in found}
            for path, _, _ in matching_lines(found):
                counts[path] += 1
            total = f"\n\nFound {sum(counts.values())} total occurrences across {len(counts)} files."
            return "\n".join(f"{box.relative(path)}:{count}" for path, count in counts.items()) + total
        return "\n".join([f"Found {len(paths)} file{'s' * (len(paths) != 1)}", *paths[:limit]])

    async def plan(self, box: Box, given: Given) -> str:
        return (
            "Todos have been modified successfully. Ensure that you continue to use the todo list to track your "
            "progress. Please proceed with the current tasks if applicable"
        )

    def failed(self, text: str) -> str:
        return f"<tool_use_error>{text}</tool_use_error>"

    def file_error(self, error: FileError, given: Given) -> str:
        if error.kind == "not_found":
            return self.failed("File does not exist.")
        if error.kind == "is_a_directory":
            return "EISDIR: illegal operation on a directory, read"
        return self.failed(str(error))

    def malformed(self, name: str | None, problem: str) -> str:
        return self.failed(f"InputValidationError: {name} failed: {problem}")

    def unknown_tool(self, name: str | None) -> str:
        return self.failed(f"Error: No such tool available: {name}")


SNIPPET = "Here's the result of running `cat -n` on a snippet of the edited file:"


def exchanged(text: str, old: str, new: str, everywhere: bool) -> str:
    if old == new:
        raise ToolFailed("No changes to make: old_string and new_string are exactly the same.")
    count = text.count(old) if old else 0
    if not count:
        raise ToolFailed(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not everywhere:
        raise ToolFailed(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all "
            f"occurrences, set replace_all to true. To replace only one, give more context.\nString: {old}"
        )
    return text.replace(old, new)


def file_types(name: str) -> list[str]:
    if name and name not in TYPES:
        raise ToolFailed(f"ripgrep error: unrecognized file type: {name}")
    return [TYPES[name]] if name else []


def content_lines(found: list[Matches], box: Box, single: bool, context: bool) -> list[str]:
    """As ripgrep prints them: `path:12:line`, context with dashes, `--` between blocks; no path for a single file."""
    lines: list[str] = []
    for path, blocks in found:
        name = "" if single else box.relative(path)
        for start, block, hits in blocks:
            if context and lines:
                lines.append("--")
            for row, line in enumerate(block, start):
                mark = ":" if row in hits else "-"
                lines.append(f"{name}{mark if name else ''}{row + 1}{mark}{line}")
    return lines


def shortened(text: str) -> str:
    if len(text) <= OUTPUT_CHARS:
        return text
    return f"{text[:OUTPUT_CHARS]}\n\n... [{text[OUTPUT_CHARS:].count(chr(10)) + 1} lines truncated] ..."
