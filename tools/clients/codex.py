"""Codex CLI: `exec_command`, the older `shell` and `shell_command`, and `apply_patch`."""

from __future__ import annotations

from replayer.tools.clients.base import Box, Client, Given, ToolFailed, outcome
from replayer.tools.clients.patch import HEREDOC, Change, applied, parse
from replayer.tools.outcome import ToolOutcome
from replayer.tools.sandbox.types import FileError, Ran

CHUNK = "000000"
"""Codex numbers pieces of output at random; a fixed name keeps runs comparable."""


class Codex(Client):
    """Results say the exit code, the wall time and the output, under headings that changed over time."""

    default_seconds = 120.0

    async def run(self, box: Box, given: Given) -> ToolOutcome:
        inner = patch_in(given)
        if inner is not None:
            return ToolOutcome("ok", await self.apply(box, inner))
        return await super().run(box, given)

    def ran(self, given: Given, ran: Ran) -> ToolOutcome:
        code = 124 if ran.timed_out else ran.exit_code if ran.exit_code is not None else 137
        if given.roles.get("command") == "cmd":
            text = (
                f"Chunk ID: {CHUNK}\nWall time: {ran.duration:.4f} seconds\nProcess exited with code {code}\n"
                f"Original token count: {(len(ran.output.encode()) + 3) // 4}\nOutput:\n{ran.output}"
            )
        else:
            text = f"Exit code: {code}\nWall time: {ran.duration:.1f} seconds\nOutput:\n{ran.output}"
            if ran.timed_out:
                text = f"command timed out after {self.seconds(given) * 1000:.0f} milliseconds\n{text}"
        return outcome(ran, text)

    async def patch(self, box: Box, given: Given) -> str:
        return f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{await self.apply(box, given.text('patch'))}"

    async def apply(self, box: Box, text: str) -> str:
        """All files are worked out before the first is written."""
        changes = parse(text)
        if not changes:
            raise ToolFailed("No files were modified.")
        written = {change.path: await self.after(box, change) for change in changes}
        for change in changes:
            after = written[change.path]
            if after is not None:
                await box.write(change.to or change.path, after)
            if after is None or (change.to and change.to != change.path):
                await box.sandbox.remove(box.path(change.path))
        rows = [f"{change.action[0].replace('U', 'M')} {change.to or change.path}" for change in changes]
        return "Success. Updated the following files:\n" + "\n".join(rows) + "\n"

    async def after(self, box: Box, change: Change) -> str | None:
        if change.action == "Add":
            return "".join(f"{line}\n" for line in change.added)
        try:
            text = await box.read(change.path)
        except FileError as error:
            raise ToolFailed(
                f"apply_patch verification failed: Failed to read file to update {change.path}: {error}"
            ) from error
        return None if change.action == "Delete" else applied(text, change)

    def malformed(self, name: str | None, problem: str) -> str:
        return f"failed to parse function arguments: {problem}"

    def unknown_tool(self, name: str | None) -> str:
        return f"unsupported call: {name}"


def patch_in(given: Given) -> str | None:
    """`apply_patch` called through the shell: as a program, or with a here-document."""
    argv = given.get("argv")
    if isinstance(argv, list) and len(argv) == 2 and argv[0] == "apply_patch" and isinstance(argv[1], str):
        return argv[1]
    line = argv[-1] if isinstance(argv, list) and argv else given.get("command")
    found = HEREDOC.match(line) if isinstance(line, str) else None
    return found["patch"] if found and not found["folder"] else None
