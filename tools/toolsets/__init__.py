"""The tools that known agents offer: their schemas, and what each tool does, as data in the JSON files beside this.

`load("zed")` gives a ToolKit, `identify(tools)` the kit whose tools a trace used, and `kit.action(name, arguments)`
says what a call means in words that are the same for every agent: which argument is the path, which the command.

Roles by kind (argument names on the left are the same for all kits):

    read        path, first_line, last_line | limit | line_range      lines count from 1, ends included
    write       path, content
    edit        path, and either old, new, replace_all, or edits (a list of objects with the keys named old, new)
    edit_lines  path, first_line, last_line, new
    insert      path, line, new
    patch       patch
    grep        pattern (regular expression) | text, path, glob, skip, limit, …
    find        glob, path, skip
    list        path
    run         command (a shell line) | argv, cwd, timeout_ms | timeout_s
    copy, move  source, destination
    mkdir, delete, diagnostics, undo, view    path
    fetch       url;   web_search  query;   think, finish  text;   plan  plan;   agent  prompt
    input, output, kill   id (a running command), text
    clock, ask, open, other   nothing that can be executed from the call alone
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from replayer.errors import PlanError
from replayer.lazy import dataclass
from replayer.traces.schema import ToolSchema
from replayer.wire.types import Json

ActionKind = Literal[
    "read",
    "write",
    "edit",
    "edit_lines",
    "insert",
    "undo",
    "patch",
    "grep",
    "find",
    "list",
    "view",
    "run",
    "input",
    "output",
    "kill",
    "copy",
    "move",
    "mkdir",
    "delete",
    "diagnostics",
    "fetch",
    "web_search",
    "think",
    "plan",
    "agent",
    "ask",
    "clock",
    "open",
    "finish",
    "other",
]
ACTION_KINDS: frozenset[str] = frozenset(get_args(ActionKind))

KITS = tuple(
    """
    zed zed-2026-04 zed-2025 claude-code codex mini-swe-agent swe-agent openhands
    """.split()
)
"""All kits. Where a trace fits several equally well, it is taken for the earlier one."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a call does. `arguments` maps a role (`path`, `command`, …) to the tool's own argument name."""

    kind: ActionKind
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolKit:
    """The tools of one agent at one time."""

    name: str
    agent: str
    as_of: str
    tools: tuple[ToolSchema, ...]
    _actions: Mapping[str, Mapping[str, Json]]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._actions)

    def action(self, name: str, arguments: Mapping[str, Json] | None = None) -> Action | None:
        """What the tool does, None if this kit has no such tool.

        Some tools do several things (`edit_file` with a `mode`): then the argument decides, and without a
        known value of it the action is `other`.
        """
        entry = self._actions.get(name)
        if entry is None:
            return None
        if "cases" in entry:
            chosen = (arguments or {}).get(entry["by"])
            entry = entry["cases"].get(chosen) if isinstance(chosen, str) else None
        return Action(entry["kind"], entry["arguments"]) if entry else Action("other")


@cache
def load(name: str) -> ToolKit:
    """The kit of that name.

    Raises PlanError for a name that is not in KITS.
    """
    if name not in KITS:
        raise PlanError(f"no tool set named {name!r}; there are {', '.join(KITS)}")
    data = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    tools = tuple(
        ToolSchema(name=t["name"], description=t["description"], parameters=t["parameters"])
        for t in data["tools"]
    )
    return ToolKit(name, data["agent"], data["as_of"], tools, {t["name"]: t["action"] for t in data["tools"]})


def identify(tools: Iterable[ToolSchema | str]) -> ToolKit | None:
    """The kit that fits the tools of a trace best, given as schemas or as the bare names that it called.

    A kit fits when it knows at least half of the names; argument names, where schemas are given, decide between
    kits that share tool names. None when no kit fits, e.g. for a session with MCP tools only.
    """
    wanted = [tool if isinstance(tool, str) else (tool.name, _properties(tool)) for tool in tools]
    if not wanted:
        return None
    best = max((load(name) for name in KITS), key=lambda kit: _fit(kit, wanted))
    known = sum((w if isinstance(w, str) else w[0]) in best.names for w in wanted)
    return best if known * 2 >= len(wanted) else None


def _properties(tool: ToolSchema) -> frozenset[str]:
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _fit(kit: ToolKit, wanted: list[str | tuple[str, frozenset[str]]]) -> tuple[int, int]:
    """More names known, then fewer argument names that differ."""
    own = {tool.name: _properties(tool) for tool in kit.tools}
    names = [w if isinstance(w, str) else w[0] for w in wanted]
    differing = sum(len(own[w[0]] ^ w[1]) for w in wanted if not isinstance(w, str) and w[0] in own)
    return sum(name in own for name in names), -differing
