"""Runs a session's calls in a temporary folder, without isolation: only for scripts of this repository."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from replayer.traces.recorded.script import Answer, Call

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Failed(Exception):
    """The tool's answer is an error."""


class PlainTools:
    """Zed's tools over one folder. Answers are (text, is_error, exit code)."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def run(self, call: Call) -> Answer:
        try:
            if call.tool == "terminal":
                return self.terminal(**call.arguments)
            return Answer(getattr(self, call.tool)(**call.arguments))
        except Failed as error:
            return Answer(str(error), True)

    def terminal(self, command: str, cd: str, timeout_ms: int = 120_000) -> Answer:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.root / cd, env=ENVIRONMENT, timeout=timeout_ms / 1000,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        said = done.stdout.decode("utf-8", "replace").strip("\n").replace(str(self.root), "/workspace")
        text = f"```\n{said}\n```" if said else "Command executed successfully."
        if done.returncode:
            text = f'Command "{command}" failed with exit code {done.returncode}.\n\n{text}'
        return Answer(text, False, done.returncode)

    def read_file(self, path: str, start_line: int | None = None, end_line: int | None = None) -> str:
        lines = self._text(path).splitlines(keepends=True)
        return "".join(lines[(start_line or 1) - 1 : end_line])

    def list_directory(self, path: str) -> str:
        entries = sorted((self.root / path).iterdir())
        folders = "".join(f"{entry.relative_to(self.root)}\n" for entry in entries if entry.is_dir())
        files = "".join(f"{entry.relative_to(self.root)}\n" for entry in entries if entry.is_file())
        return f"# Folders:\n{folders}\n# Files:\n{files}".strip("\n")

    def edit_file(self, display_description: str, path: str, mode: str, **given: Any) -> str:
        target = self.root / path
        before = target.read_text() if target.exists() else ""
        after = given["content"] if mode == "write" else before
        for one in given.get("edits", ()):
            if after.count(one["old_text"]) != 1:
                raise Failed("Could not find matching text for edit. The old_text did not match exactly.")
            after = after.replace(one["old_text"], one["new_text"])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(after)
        diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3))[2:]
        return f"Edited {path}:\n\n```diff\n" + "\n".join(diff) + "\n```"

    def grep(
        self, regex: str, include_pattern: str = "**", offset: int = 0, case_sensitive: bool = False
    ) -> str:
        pattern = re.compile(regex, 0 if case_sensitive else re.IGNORECASE)
        found = []
        for path in sorted(self.root.glob(include_pattern)):
            lines = path.read_text().splitlines() if path.is_file() else []
            hits = [f"### L{n}\n```\n{line}\n```" for n, line in enumerate(lines, 1) if pattern.search(line)]
            if hits:
                found.append(f"## Matches in {path.relative_to(self.root)}\n\n" + "\n\n".join(hits))
        return f"Found {len(found)} matches:\n\n" + "\n\n".join(found) if found else "No matches found"

    def _text(self, path: str) -> str:
        if not os.path.isfile(self.root / path):
            raise Failed(f"Path {path} not found in project")
        return (self.root / path).read_text()
