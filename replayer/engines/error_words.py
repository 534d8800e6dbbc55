"""Errors of known engines to the closed set of faults, each with one line that ends in a remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence

from replayer.wire.faults import default_fault, words
from replayer.wire.types import FaultKind, WireFault

Rule = tuple[re.Pattern[str], FaultKind]
"""The engine's words that mean a kind; the first that matches wins over the general reading."""

REMEDIES: dict[FaultKind, str] = {
    "context_too_long": "replay fewer turns (--max-turns) or start the server with a longer context",
    "unknown_model": "name a served model with model=…",
    "bad_request": "the server refuses the request as it is; `replayer repro` writes it out",
    "bad_tools": "the server refuses the tools or tool_choice; check the tool schemas and its tool-call parser",
    "unauthorized": "give the key with api_key_env=VARIABLE",
    "overloaded": "lower --concurrency or wait",
    "server_error": "see the server's log",
    "unreachable": "check the URL and that the server runs",
    "stream_broken": "see the server's log",
    "timeout": "see whether the server is stuck or overloaded",
    "too_large": "no model answers like this; see what the server really is",
}
LONGEST = 300
"""Characters of the engine's own words in a message; the whole body is kept beside it."""

_LOCATION = re.compile(r"'loc': (\([^)]*\)|'[^']*')")
_TOOL_LOCATION = re.compile(r"tools|tool_choice")


def engine_fault(status: int, body: str, rules: Sequence[Rule], context_flag: str | None = None) -> WireFault:
    """`context_flag` is the option that lengthens this kind's context."""
    said = words(body)
    kind = _kind(status, body, said, rules)
    remedy = REMEDIES[kind]
    if kind == "context_too_long" and context_flag:
        remedy += f" ({context_flag})"
    return WireFault(kind, f"{one_line(said) or f'HTTP status {status}'} — {remedy}", status, body)


def _kind(status: int, body: str, said: str, rules: Sequence[Rule]) -> FaultKind:
    for pattern, kind in rules:
        if pattern.search(said):
            return kind
    locations = _LOCATION.findall(said)
    if status < 500 and locations:
        # A validation error repeats the whole request: only the place it points to says what is wrong.
        at_tools = any(_TOOL_LOCATION.search(location) for location in locations)
        return "bad_tools" if at_tools or "tool_choice`" in said.split("'input'")[0] else "bad_request"
    return default_fault(status, body).kind


def one_line(text: str) -> str:
    """The first paragraph, on one line, cut at a readable length."""
    paragraph = " ".join(text.strip().split("\n\n", 1)[0].split())
    return paragraph if len(paragraph) <= LONGEST else paragraph[: LONGEST - 1] + "…"
