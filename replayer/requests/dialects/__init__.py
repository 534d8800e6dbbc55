"""How a client writes a trace's items as the messages of an OpenAI chat request. Chosen per run, not stored."""

from __future__ import annotations

from replayer.errors import PlanError
from replayer.requests.dialects.base import Dialect, DialectName
from replayer.requests.dialects.claude_code import ClaudeCode
from replayer.requests.dialects.codex import Codex
from replayer.requests.dialects.openai import OpenAIVerbatim
from replayer.requests.dialects.zed import Zed
from replayer.text import nearest

DIALECTS: dict[str, type[Dialect]] = {kind.name: kind for kind in (OpenAIVerbatim, Zed, ClaudeCode, Codex)}


def dialect(name: str) -> Dialect:
    """Raises PlanError that names the nearest dialect."""
    if name not in DIALECTS:
        raise PlanError(f"unknown dialect {name!r}{nearest(name, DIALECTS)}")
    return DIALECTS[name]()


__all__ = ["DIALECTS", "Dialect", "DialectName", "dialect"]
