"""How each agent's tools behave: what they do in a sandbox, and in which words their results reach the model."""

from __future__ import annotations

from collections.abc import Callable

from replayer.lazy import LazyTable
from replayer.tools.clients.base import Client
from replayer.tools.toolsets import ToolKit

CLIENTS: LazyTable[Callable[[], Client]] = LazyTable(
    "replayer.tools.clients",
    {
        "zed": "zed:Zed",
        "zed-2026-04": "zed:OlderZed",
        "zed-2025": "zed:OlderZed",
        "claude-code": "claude_code:ClaudeCode",
        "codex": "codex:Codex",
        "swe-agent": "swe_agent:SweAgent",
        "mini-swe-agent": "swe_agent:MiniSweAgent",
        "openhands": "swe_agent:OpenHands",
    },
)


def client_for(kit: ToolKit) -> Client:
    """A new client (some remember what they showed); a plain one where this agent's wording is not known."""
    return CLIENTS.get(kit.name, Client)()
