"""How a client writes a trace's items as a request, and over which wire. Chosen per run, not stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from replayer.errors import PlanError
from replayer.lazy import LazyTable
from replayer.requests.dialects.base import Dialect, DialectName
from replayer.text import nearest
from replayer.wire.types import Wire

_Kinds = Mapping[str, Callable[[dict[str, str]], Dialect]]


def _kinds(**places: str) -> _Kinds:
    return LazyTable("replayer.requests.dialects", places)


_MESSAGES = "messages_api:MessagesVerbatim"
_RESPONSES = "responses_api:ResponsesVerbatim"

DIALECTS: dict[str, _Kinds] = {
    "openai-verbatim": _kinds(chat="chat_api:OpenAIVerbatim", messages=_MESSAGES, responses=_RESPONSES),
    "zed": _kinds(chat="zed:Zed"),
    "claude-code": _kinds(
        chat="chat_api:ClaudeCode", messages="messages_api:ClaudeCodeMessages", responses=_RESPONSES
    ),
    "codex": _kinds(chat="chat_api:Codex", messages=_MESSAGES, responses="responses_api:CodexResponses"),
}
"""By name and wire; on a wire that is not its client's own, a dialect is an approximation and says so."""

HOME: dict[str, Wire] = {"zed": "chat", "claude-code": "messages", "codex": "responses"}
"""The wire that a client really speaks."""


def dialect(name: str, wire: Wire = "chat") -> Dialect:
    """`name` may carry options: `claude-code:attribution=off`. Raises PlanError that names the nearest dialect."""
    bare, _, written = name.partition(":")
    if bare not in DIALECTS:
        raise PlanError(f"unknown dialect {bare!r}{nearest(bare, DIALECTS)}")
    if wire not in DIALECTS[bare]:
        raise PlanError(f"the dialect {bare!r} has no form for the wire {wire}; omit --dialect or --wire")
    options = dict(option.split("=", 1) for option in written.split(",") if "=" in option)
    return DIALECTS[bare][wire](options)


__all__ = ["DIALECTS", "HOME", "Dialect", "DialectName", "dialect"]
