"""The words that a session script is written in: what the user said and what the agent said and called.

A script holds no tool result. `build.py` plays it in its workspace, really runs every call, and writes the trace.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replayer.traces.schema import Content, ToolSchema


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `raw` is the argument text where it is not the compact JSON of `arguments`.

    `agent` is what a subagent does that this call starts; its last words are the call's result.
    """

    tool: str
    arguments: dict[str, Any]
    raw: str | None = None
    agent: tuple[Step, ...] = ()

    @property
    def text(self) -> str:
        if self.raw is not None:
            return self.raw
        return json.dumps(self.arguments, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gave back when the session was recorded."""

    text: str
    is_error: bool = False
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A message of the user's."""

    content: Content


class Say:
    """One turn of the agent: what it thought, said and called. `results` is the order in which results came back."""

    __slots__ = ("calls", "reasoning", "results", "text")

    def __init__(
        self, text: str, *calls: Call, reasoning: str | None = None, results: tuple[int, ...] | None = None
    ) -> None:
        self.text = text
        self.calls = calls
        self.reasoning = reasoning
        self.results = results if results is not None else tuple(range(len(calls)))


@dataclass(frozen=True, slots=True)
class Compact:
    """The context is dropped for a summary; the system prompt and the user's messages since `keep_users` stay."""

    summary: str


Step = User | Say | Compact


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything that a recording is made from. `check` is the command that passes once the work is done."""

    name: str
    title: str
    system: str
    tools: tuple[ToolSchema, ...]
    steps: tuple[Step, ...]
    check: tuple[str, ...]
    agent: str = "zed"
    kit: str = "zed-2026-04"
    """The tool set that executes the calls (see `replayer.tools.toolsets`)."""
    environment: tuple[str, ...] = ()
    """Pinned packages; the sandbox has the system's Python in any case."""
    agent_system: str = ""
    """System prompt of subagents."""
    purpose: str = ""
    """One sentence for docs/sessions.md."""
    notes: dict[str, Any] = field(default_factory=dict)


def text_in(folder: Path) -> Callable[[str], str]:
    """Texts that an agent writes, kept as files in `written/` beside its script, where they can be read and diffed."""
    return lambda name: (folder / "written" / name).read_text(encoding="utf-8")
