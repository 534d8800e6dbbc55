"""How each agent's tools behave: what they do in a sandbox, and in which words their results reach the model."""

from __future__ import annotations

from collections.abc import Callable

from replayer.tools.clients.base import Client
from replayer.tools.clients.claude_code import ClaudeCode
from replayer.tools.clients.codex import Codex
from replayer.tools.clients.swe_agent import MiniSweAgent, OpenHands, SweAgent
from replayer.tools.clients.zed import Zed
from replayer.tools.toolsets import ToolKit

CLIENTS: dict[str, Callable[[], Client]] = {
    "zed": Zed,
    "zed-2026-04": lambda: Zed(newest=False),
    "zed-2025": lambda: Zed(newest=False),
    "claude-code": ClaudeCode,
    "codex": Codex,
    "swe-agent": SweAgent,
    "mini-swe-agent": MiniSweAgent,
    "openhands": OpenHands,
}


def client_for(kit: ToolKit) -> Client:
    """A new client (some remember what they showed); a plain one where this agent's wording is not known."""
    return CLIENTS.get(kit.name, Client)()
