"""What of an answer shows a fault, as a piece of text or an event that `repro.py` can look for without judging."""

from __future__ import annotations

import re
from collections.abc import Iterator

from replayer.wire.types import JsonObject

Sign = tuple[str, str, str | int]
"""(fault class, fact of the answer, what that fact must contain)."""

_CAME = {
    "empty_turn": "nothing",
    "bad_call_id": "ids",
    "bad_call_index": "order",
    "parallel_ignored": "several calls",
    "unknown_tool": "a call not offered",
}
_DIFFERS = {
    "silent_drop": ("names",),
    "silent_repair": ("names", "arguments"),
    "stream_differs": ("names", "arguments", "text"),
}
_ERRORS = {"history_rejected": "refused", "engine_error": "broken"}
_MARKED = {"leaked_markup": "text", "call_in_reasoning": "reasoning"}
_MARK = re.compile(r"<[^<>\s]{2,60}>?|\[/?[A-Z_]{4,20}\]|to=functions\.|functools")
_UNITS = 4
"""Repetitions of a collapse's unit that are taken as the same collapse."""


def signs(faults: list[JsonObject], reply: JsonObject, collapse: JsonObject | None) -> list[Sign]:
    """For each fault what showed it in the stored answer; one sign of several is enough."""
    found = ((fault["klass"], *sign) for fault in faults for sign in _of(fault, reply, collapse))
    return [sign for sign in found if sign[2] != ""]


def _of(fault: JsonObject, reply: JsonObject, collapse: JsonObject | None) -> Iterator[tuple[str, str | int]]:
    klass, calls = fault["klass"], reply["tool_calls"]
    ending = f"{reply['finish_reason'] or ''} {'with' if calls else 'without'} a call"
    at = fault["call_index"]
    call = calls[at] if at is not None and at < len(calls) else None
    if klass in _CAME:
        yield "came", _CAME[klass]
    elif klass in _DIFFERS:
        yield from (("differs", what) for what in _DIFFERS[klass])
    elif klass in _ERRORS:
        yield "error", _ERRORS[klass]
    elif klass in _MARKED:
        yield from ((_MARKED[klass], mark) for mark in _marks(fault))
    elif klass == "finish_contradicts":
        yield "came", ending
    elif klass == "truncated":
        yield from _cut(reply, ending)
    elif klass == "protocol":
        message = fault["message"]
        yield "oddities", "no_done" if "[DONE]" in message else message.partition(":")[0]
    elif klass == "choice_ignored":
        yield ("came", "call" if calls else "no call") if call is None or at == 0 else ("names", call["name"])
    elif klass == "collapsed":
        unit = (collapse or {}).get("unit") or ""
        yield from [("spoken", unit * _UNITS)] if unit.strip() else []
    elif call is not None:
        yield "arguments", call["arguments"]
    else:
        yield "text", reply["content"]


def _cut(reply: JsonObject, ending: str) -> Iterator[tuple[str, str | int]]:
    if reply["finish_reason"] in ("length", "max_tokens"):
        yield "came", ending
    elif (made := (reply["usage"] or {}).get("completion_tokens")) is not None:
        yield "tokens", made


def _marks(fault: JsonObject) -> list[str]:
    """The call syntax that a leak was known by; else the start of its text."""
    excerpt = fault["message"].partition(": ")[2]
    return _MARK.findall(excerpt)[:3] or [excerpt.strip("… \n")[:12]]
