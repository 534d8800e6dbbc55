"""What all clients share: a call's arguments by role, the sandbox under a path map, and plain wording."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replayer.tools.outcome import OutcomeKind, ToolOutcome
from replayer.tools.sandbox.types import SHELL_STATE, FileError, Found, Matches, Ran, Texts
from replayer.tools.sandbox.workspace import ROOT
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.tools.sandbox.sandbox import OpenSandbox

MOST_COMPARED_LINES = 6000
"""difflib takes quadratic time on lines that a model chose badly."""


class ToolFailed(Exception):
    """The tool's answer is an error; `str()` is what the model reads."""

    def __init__(self, text: str, *, malformed: bool = False) -> None:
        super().__init__(text)
        self.malformed = malformed


class Given:
    """A call's arguments by role. A value of a wrong type is as good as none: validation has named it already."""

    def __init__(self, arguments: Mapping[str, object], roles: Mapping[str, str], tool: str = "") -> None:
        self.arguments = arguments
        self.roles = roles
        self.tool = tool

    def get(self, role: str) -> Any:
        return self.arguments.get(self.roles.get(role, ""))

    def text(self, role: str, default: str | None = None) -> str:
        """Raises ToolFailed where a text without default is missing."""
        value = self.get(role)
        if isinstance(value, str):
            return value
        if default is None:
            raise ToolFailed(f"missing field `{self.roles.get(role, role)}`", malformed=True)
        return default

    def number(self, role: str) -> int | None:
        value = self.get(role)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, role: str) -> bool:
        return self.get(role) is True


class Box:
    """The sandbox as a session sees it: paths and commands of the recording translated on the way in."""

    def __init__(self, sandbox: OpenSandbox, path_map: Mapping[str, str]) -> None:
        self.sandbox = sandbox
        self.path_map = {old: rooted(new, sandbox.root) for old, new in path_map.items()}
        if sandbox.root != ROOT:
            # A weaker isolation has no place of its own: its workspace lies somewhere on the host.
            self.path_map.setdefault(ROOT, sandbox.root)
        alternatives = "|".join(re.escape(old) for old in sorted(self.path_map, key=len, reverse=True))
        self._mapped = re.compile(rf"(?<![\w./-])({alternatives})(?=/|[^\w.-]|$)") if self.path_map else None
        self._back = next(((new, old) for old, new in self.path_map.items() if old.startswith("/")), None)

    def inward(self, text: str) -> str:
        """Every path of the recording in a text as the sandbox has it."""
        return self._mapped.sub(lambda m: self.path_map[m[1]], text) if self._mapped else text

    def outward(self, text: str) -> str:
        """The sandbox's paths in a result as the recording has them, under the first absolute path of the map."""
        if self._back is None:
            return text
        new, old = self._back
        return re.sub(rf"(?<![\w.-]){re.escape(new)}(?=/|[^\w.-]|$)", lambda _: old, text)

    def path(self, path: str) -> str:
        """A path of the recording as an absolute path of the sandbox."""
        return self.sandbox.path(self.inward(path))

    def relative(self, path: str) -> str:
        """A path of the sandbox below its root."""
        return path.removeprefix(self.sandbox.root).lstrip("/")

    async def read(self, path: str) -> str:
        return decoded(await self.sandbox.read_file(self.path(path)))

    async def write(self, path: str, text: str) -> bool:
        return await self.sandbox.write_file(self.path(path), encoded(text))


def decoded(data: bytes) -> str:
    """Text in which bytes that are no UTF-8 survive an edit (see `encoded`); `speakable` shows them."""
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def speakable(text: str) -> str:
    """Text that can be sent as JSON."""
    return encoded(text).decode("utf-8", "replace")


def rooted(path: str, root: str) -> str:
    """`/workspace` and what lies below it, as the sandbox at hand has it."""
    inside = path == ROOT or path.startswith(f"{ROOT}/")
    return root + path[len(ROOT) :] if inside else path


class Client:
    """Behaviour in plain words; a subclass words what its agent words otherwise.

    One method per action kind of the tool sets. A method returns the text for the model or raises ToolFailed,
    `run` returns the outcome itself.
    """

    shell = ("/bin/bash", "-c")
    default_seconds = 120.0
    search_seconds = 20.0

    async def run(self, box: Box, given: Given) -> ToolOutcome:
        argv = given.get("argv")
        if isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv):
            command = [box.inward(word) for word in argv]
        else:
            command = [*self.shell, box.inward(given.text("command"))]
        where = await self.folder(box, given.text("cwd", "."))
        ran = await box.sandbox.run(command, timeout=self.seconds(given), cwd=where)
        return self.ran(given, ran)

    def seconds(self, given: Given) -> float:
        milliseconds, seconds = given.number("timeout_ms"), given.number("timeout_s")
        if milliseconds is not None:
            return max(0.001, milliseconds / 1000)
        return float(seconds) if seconds else self.default_seconds

    async def folder(self, box: Box, cwd: str) -> str:
        return box.path(cwd)

    def ran(self, given: Given, ran: Ran) -> ToolOutcome:
        return outcome(ran, self.ran_text(given, ran))

    def ran_text(self, given: Given, ran: Ran) -> str:
        return ran.output

    async def read(self, box: Box, given: Given) -> str:
        lines = (await box.read(given.text("path"))).splitlines(keepends=True)
        first, last = line_range(given, len(lines))
        return "".join(lines[first - 1 : last])

    async def write(self, box: Box, given: Given) -> str:
        created = await box.write(given.text("path"), given.text("content", ""))
        return f"{'Created' if created else 'Overwrote'} {given.text('path')}"

    async def edit(self, box: Box, given: Given) -> str:
        path = given.text("path")
        text = await box.read(path)
        for old, new, everywhere in edits(given):
            text = replaced(text, old, new, everywhere)
        await box.write(path, text)
        return f"Edited {path}"

    async def list(self, box: Box, given: Given) -> str:
        entries = await box.sandbox.list(box.path(given.text("path", ".")))
        return "\n".join(name + "/" * (kind == "directory") for name, kind in entries)

    async def grep(self, box: Box, given: Given) -> str:
        found, _ = await self.search(box, given, limit=200)
        lines = [f"{box.relative(path)}:{row + 1}:{line}" for path, row, line in matching_lines(found)]
        return "\n".join(lines) or "No matches found"

    async def search(self, box: Box, given: Given, *, limit: int, **more: Any) -> Found:
        glob = given.text("glob", "")
        pattern = given.get("pattern")
        asked: JsonObject = {"case_sensitive": True, "before": 0, "after": 0, "skip": 0}
        return await box.sandbox.grep(
            more.pop("path", None) or box.path(given.text("path", ".")),
            seconds=self.search_seconds,
            regex=pattern if isinstance(pattern, str) else re.escape(given.text("text")),
            globs=[glob] if glob else [],
            limit=limit,
            **asked | more,
        )

    async def find(self, box: Box, given: Given) -> str:
        return (
            "\n".join(await self.paths(box, given.text("path", "."), given.text("glob"))) or "No files found"
        )

    async def paths(self, box: Box, path: str, glob: str, **more: object) -> Texts:
        return await box.sandbox.find(box.path(path), glob, seconds=self.search_seconds, **more)

    async def copy(self, box: Box, given: Given) -> str:
        await box.sandbox.copy(box.path(given.text("source")), box.path(given.text("destination")))
        return f"Copied {given.text('source')} to {given.text('destination')}"

    async def move(self, box: Box, given: Given) -> str:
        await box.sandbox.move(box.path(given.text("source")), box.path(given.text("destination")))
        return f"Moved {given.text('source')} to {given.text('destination')}"

    async def mkdir(self, box: Box, given: Given) -> str:
        await box.sandbox.make_directory(box.path(given.text("path")))
        return f"Created directory {given.text('path')}"

    async def delete(self, box: Box, given: Given) -> str:
        await box.sandbox.remove(box.path(given.text("path")))
        return f"Deleted {given.text('path')}"

    async def think(self, box: Box, given: Given) -> str:
        return "Your thought has been logged."

    async def plan(self, box: Box, given: Given) -> str:
        return "Plan updated"

    def file_error(self, error: FileError, given: Given) -> str:
        return f"{given.get('path') or given.get('source') or ''}: {error}"

    def failed(self, text: str) -> str:
        """How an error of the tool itself reaches the model."""
        return text

    def malformed(self, name: str | None, problem: str) -> str:
        """What the model reads when its arguments cannot be read."""
        return f"Error parsing the arguments of {name}: {problem}"

    def unknown_tool(self, name: str | None) -> str:
        return f"No tool named {name} exists"


def outcome(ran: Ran, text: str, is_error: bool = False) -> ToolOutcome:
    """The kind of a command's end: its limit first, then its exit code."""
    kind: OutcomeKind = "ok" if ran.exit_code == 0 else "exit_code"
    if ran.limit:
        kind = "timeout" if ran.timed_out else "limit"
    detail = {"limit": ran.limit} if ran.limit else {}
    return ToolOutcome(kind, text, is_error, ran.exit_code, ran.duration, detail)


def line_range(given: Given, total: int) -> tuple[int, int]:
    """First and last line, counted from 1, the last included."""
    pair = given.get("line_range")
    if isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, int) for one in pair):
        return max(1, pair[0]), total if pair[1] < 0 else pair[1]
    first = max(1, given.number("first_line") or 1)
    limit = given.number("limit")
    last = given.number("last_line")
    if limit is not None:
        last = first + limit - 1
    return first, max(first, last) if last is not None else total


def edits(given: Given) -> list[tuple[str, str, bool]]:
    """Old text, new text, and whether every occurrence is meant."""
    many = given.get("edits")
    if isinstance(many, str):
        try:
            many = json.loads(many)
        except (ValueError, RecursionError):
            many = None
    if not isinstance(many, list):
        return [(given.text("old"), given.text("new"), given.flag("replace_all"))]
    rows = [Given(one, given.roles) for one in many if isinstance(one, dict)]
    return [(row.text("old"), row.text("new"), row.flag("replace_all")) for row in rows]


def replaced(text: str, old: str, new: str, everywhere: bool = False) -> str:
    count = text.count(old) if old else 0
    if count == 0:
        raise ToolFailed("The old text was not found in the file")
    if count > 1 and not everywhere:
        raise ToolFailed(f"The old text occurs {count} times; give more context")
    return text.replace(old, new)


def numbered(text: str, first: int = 1, mark: str = "\t") -> str:
    lines = text.splitlines(keepends=True)
    return "".join(f"{number:>6}{mark}{line}" for number, line in enumerate(lines, first))


def unified(before: str, after: str, context: int = 3) -> str:
    """Hunks only, as clients show an edit. A change too large to be compared line by line is shown as one."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) + len(new) <= MOST_COMPARED_LINES:
        lines = list(difflib.unified_diff(old, new, n=context))[2:]
    else:
        lines = in_the_middle(old, new, context)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def in_the_middle(old: list[str], new: list[str], context: int) -> list[str]:
    """The difference of two long texts: what they share at both ends is left out before anything is compared."""
    head, tail = common_ends(old, new)
    start, keep = max(0, head - context), max(0, tail - context)
    if len(old) + len(new) - 2 * (head + tail) <= MOST_COMPARED_LINES:
        cut = difflib.unified_diff(old[start : len(old) - keep], new[start : len(new) - keep], n=context)
        return [moved(line, start) for line in list(cut)[2:]]
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    mark = f"@@ -{head + 1},{len(gone)} +{head + 1},{len(come)} @@\n"
    return [mark, *(f"-{line}" for line in gone), *(f"+{line}" for line in come)]


def common_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are equal at the start, and how many of the rest at the end."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    return head, tail


def moved(line: str, rows: int) -> str:
    """A hunk's header as it reads when `rows` lines were left out before it."""
    if not rows or not line.startswith("@@ "):
        return line
    return re.sub(r"(?<=[-+])\d+(?=[, ])", lambda row: str(int(row[0]) + rows), line, count=2)


def find_lines(lines: list[str], wanted: list[str], start: int = 0) -> list[int]:
    """Every row at which a run of lines stands. By text search: comparing run by run takes quadratic time."""
    text, sought = "\n".join(["", *lines[start:], ""]), "\n".join(["", *wanted, ""])
    rows, place, row, last = [], text.find(sought), start, 0
    while place >= 0:
        row += text.count("\n", last, place)
        rows.append(row)
        last, place = place, text.find(sought, place + 1)
    return rows


def matching_lines(found: list[Matches]) -> list[tuple[str, int, str]]:
    return [
        (path, start + offset, line)
        for path, blocks in found
        for start, lines, _ in blocks
        for offset, line in enumerate(lines)
    ]


KEEP_FOLDER = """printf 'cd %q\\n' "$PWD\""""
KEEP_ALL = f"export -p; {KEEP_FOLDER}"
LINES = """[ -f {state} ] && . {state} 2>/dev/null
__keep() {{ {keep}; }}
trap '__code=$?; __keep > {state}; exit $__code' EXIT
eval "$1"
"""


async def run_kept(box: Box, given: Given, seconds: float, keep: str = KEEP_FOLDER) -> Ran:
    """In a shell that keeps its folder, and if wanted its variables, from one call to the next, as many agents' do."""
    script = LINES.format(state=SHELL_STATE, keep=keep)
    command = ["/bin/bash", "-c", script, "bash", box.inward(given.text("command"))]
    return await box.sandbox.run(command, timeout=seconds)
