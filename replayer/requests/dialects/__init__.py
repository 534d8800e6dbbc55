"""How a client writes a trace's items as a request, and over which wire. Chosen per run, not stored."""

from __future__ import annotations

from replayer.errors import PlanError
from replayer.requests.dialects.base import Dialect, DialectName
from replayer.requests.dialects.claude_code import ClaudeCode
from replayer.requests.dialects.codex import Codex
from replayer.requests.dialects.messages_api import ClaudeCodeMessages, MessagesVerbatim
from replayer.requests.dialects.openai import OpenAIVerbatim
from replayer.requests.dialects.responses_api import CodexResponses, ResponsesVerbatim
from replayer.requests.dialects.zed import Zed
from replayer.text import nearest
from replayer.wire.types import Wire

_Kind = type[OpenAIVerbatim | Zed | ClaudeCode | Codex | MessagesVerbatim | ResponsesVerbatim]

DIALECTS: dict[str, dict[Wire, _Kind]] = {
    "openai-verbatim": {"chat": OpenAIVerbatim, "messages": MessagesVerbatim, "responses": ResponsesVerbatim},
    "zed": {"chat": Zed},
    "claude-code": {"chat": ClaudeCode, "messages": ClaudeCodeMessages, "responses": ResponsesVerbatim},
    "codex": {"chat": Codex, "messages": MessagesVerbatim, "responses": CodexResponses},
}
"""By name and wire; on a wire that is not its client's own, a dialect is an approximation and says so."""

HOME: dict[str, Wire] = {"zed": "chat", "claude-code": "messages", "codex": "responses"}
"""The wire that a client really speaks."""


def dialect(name: str, wire: Wire = "chat") -> Dialect:
    """`name` may carry options: `claude-code:attribution=off`. Raises PlanError that names the nearest dialect."""
    bare, _, written = name.partition(":")
    if bare not in DIALECTS:
        raise PlanError(f"unknown dialect {bare!r}{nearest(bare, DIALECTS)}")
    kind = DIALECTS[bare].get(wire)
    if kind is None:
        raise PlanError(f"the dialect {bare!r} has no form for the wire {wire}; omit --dialect or --wire")
    options = dict(option.split("=", 1) for option in written.split(",") if "=" in option)
    return kind(options)


__all__ = ["DIALECTS", "HOME", "Dialect", "DialectName", "dialect"]
