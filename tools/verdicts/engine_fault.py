"""A request that failed, as a fault: was it the engine, the history it was sent, or the request?"""

from __future__ import annotations

import re

from replayer.tools.verdicts.verdict import Blame, Fault
from replayer.wire.types import Reply, Wire, WireFault

_ABOUT_HISTORY = re.compile(
    r"tool[ _]?calls?\b.*argument|function\.arguments|arguments\b.*\bjson|\broles?\b|alternat|tool_call_id|"
    r"messages?[\[.]\d+|assistant (?:tool call )?message|reasoning_content|tool output|function (?:call|response) turn|\binput\[\d+\]|item\['\w+'\]|type of 'item'|"
    r"tool call id|system message must|encrypted[ _]content|output of tool call|tool_use_id|tool_result|ResponseOutput\w+Param|"
    r"response with id|previous[_ ]response|text content blocks must|required following item|duplicate item",
    re.IGNORECASE | re.DOTALL,
)
_CERTAINLY_HISTORY = re.compile(
    r"tool[ _]?calls?\b.*argument|function\.arguments|arguments\b.*\bjson|roles? (?:must|not supported)|roles are supported|conversation roles|last role|"
    r"(?:unexpected|invalid|unknown|unsupported) role|\brole:? ['\"`]?(?:system|developer|user|assistant|tool)\b|tool_call_id|tool_use_id|messages?\[\d+\]|assistant message",
    re.IGNORECASE | re.DOTALL,
)
"""A server that fails of itself speaks of roles, too: of its own processes."""
_CALL_IDS = re.compile(
    r"tool[ _]?call[ _]id\b.*\b(?:must|length|expected|invalid)|function calls and responses",
    re.IGNORECASE | re.DOTALL,
)
"""Mistral's: nine letters or digits, and a result for each call."""
_BROKEN_JSON = re.compile(r"line \d+ column \d+ \(char \d+\)")
"""Arguments that a server parses: of the history's calls or, on vLLM's Messages, of the reply's own."""
_UNREAD = ("the answer is", "the body cannot be read")
"""How messages of the wire itself begin, which quote the body: no words of the engine's."""
_OURS = frozenset({"bad_request", "bad_tools", "unknown_model", "unauthorized"})


def is_away(reply: Reply) -> bool:
    """Nothing in the prompt decided this: the engine was not there, had no time, or wants a key."""
    away = ("overloaded", "timeout", "unauthorized", "unreachable")
    return reply.fault is not None and reply.fault.kind in away


def engine_fault(fault: WireFault, *, wire: Wire = "chat", calls_in_history: bool = False) -> Fault:
    """A failed request: `history_rejected` where the engine refuses what was recorded, else `engine_error`."""
    words = fault.message if len(fault.message) <= 300 else fault.message[:300] + "…"
    if fault.kind == "context_too_long":
        return Fault("history_rejected", "input", f"the history does not fit: {words!r}", True)
    refused = fault.kind in ("bad_request", "bad_tools", "server_error") and not fault.message.startswith(
        _UNREAD
    )
    said = fault.message.partition("'input':")[0]  # vLLM quotes the whole request after it: words of ours
    about_json = _BROKEN_JSON.search(said) and (calls_in_history or wire == "chat")
    about = _CERTAINLY_HISTORY if fault.kind == "server_error" else _ABOUT_HISTORY
    if refused and (about_json or about.search(said) or _CALL_IDS.search(said)):
        return Fault("history_rejected", "input", f"the engine refuses the history: {words!r}", True)
    status = f" (HTTP {fault.status})" if fault.status else ""
    blame: Blame = "input" if fault.kind in _OURS else "engine"
    return Fault("engine_error", blame, f"{fault.kind}{status}: {words!r}", True)
