"""Errors of any engine to the closed set of faults. Adapters of known engines know better and bring their own."""

from __future__ import annotations

import re
from collections.abc import Callable

from replayer.wire.extras import read_error
from replayer.wire.payload import read_json
from replayer.wire.types import FaultKind, WireFault

Classify = Callable[[int, str], WireFault]
"""From HTTP status and body to a fault."""

_CONTEXT = re.compile(
    r"context[ _]?(?:length|size|window)|exceed_context_size|maximum context|longer than the (?:maximum )?model"
    r"|prompt is too long|exceeds the maximum (?:allowed|input|prompt) length|`inputs` tokens|too many (?:input |prompt )?tokens"
    r"|maximum (?:number of )?(?:input|prompt) tokens|max_seq_len \(\d+\) - ",
    re.I,
)
_MODEL = re.compile(r"\bmodel\b", re.I)
_NO_MODEL = re.compile(r"\bmodel ['\"`][^'\"`\n]{1,120}['\"`] (?:was )?not found", re.I)
_HISTORY = re.compile(
    r"tool_call_id|\btool messages?\b|role ['\"`]?tool|messages with ['\"`]?tool|assistant message|messages?\[\d+\]",
    re.I,
)
"""The tools of the history, not those that are offered."""
_STATE = re.compile(r"response with id|previous[_ ]response", re.I)
"""What a server says that does not store responses, or not this one."""
_TOOLS = re.compile(r"\btools?\b|tool_choice|function", re.I)


def default_fault(status: int, body: str) -> WireFault:
    """Judge by the status and, where one status means several things, by words that all engines use."""
    return WireFault(_kind(status, words(body)), words(body) or f"HTTP status {status}", status, body)


def words(body: str) -> str:
    """The engine's own sentence in an error body, or the body where it is in no known shape."""
    try:
        payload, _ = read_json(body.encode("utf-8", "replace"))
    except ValueError:
        return body.strip()[:500]
    if error := read_error(payload, body):
        return error.message
    if isinstance(payload, dict) and (said := payload.get("message") or payload.get("detail")):
        return str(said)
    return body.strip()[:500]


def _kind(status: int, message: str) -> FaultKind:
    if _CONTEXT.search(message) or status == 413:
        return "context_too_long"
    if status in (401, 403, 407):
        return "unauthorized"
    if status in (429, 503, 529):
        return "overloaded"
    if _STATE.search(message) and status in (400, 404):
        return "bad_request"
    if status == 404 and (_MODEL.search(message) or not _TOOLS.search(message)):
        return "unknown_model" if _MODEL.search(message) else "unreachable"
    if _NO_MODEL.search(message):
        return "unknown_model"
    if status >= 500:
        return "server_error"
    if _HISTORY.search(message):
        return "bad_request"
    return "bad_tools" if _TOOLS.search(message) else "bad_request"
