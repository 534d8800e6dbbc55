"""What was asked of a server and what it made of it, from the first part of its log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from replayer.engines.logs.patterns import LogSettings, clean
from replayer.engines.registry import KINDS
from replayer.wire.types import JsonObject

_NOTE = re.compile(
    r"is set to .* by default|is reset to|disabled because|will be disabled|won't work with|not supported with"
    r"|promot(?:ed|ing)|falling back|Setting .* to|overrid(?:e|ing) .* to|scaling factor",
    re.I,
)
_PREFIX = re.compile(
    r"^.*?(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]|(?:INFO|WARNING) [\d-]+ [\d:]+ \[[^\]]+\])\s*"
)
START_BYTES = 4_000_000
"""Settings are printed at the start; a log may be very long."""


def read_settings(lines: Iterable[str]) -> LogSettings:
    settings = LogSettings()
    takers = [(kind, *taker) for kind in KINDS.values() if kind.log for taker in kind.log.settings]
    for raw in lines:
        line = clean(raw)
        for kind, mark, take in takers:
            if mark in line:
                take(settings, line)
                settings.kind = settings.kind or kind.name
        if _NOTE.search(line) and len(line) < 400:
            note = _PREFIX.sub("", line).strip()
            if note not in settings.notes:
                settings.notes.append(note)
    return settings


def with_log(facts: JsonObject, log: Path | None) -> JsonObject:
    """Lane facts with what the server's log says of its settings under `log`; the server's own word goes first."""
    if log is None:
        return facts
    try:
        with log.open("rb") as file:
            settings = read_settings(file.read(START_BYTES).decode("utf-8", "replace").splitlines())
    except OSError:
        return facts
    if not (settings.asked or settings.effective or settings.notes):
        return facts
    pool = facts.get("kv_pool_tokens") or settings.kv_pool_tokens
    logged = {key: value for key, value in settings.effective.items() if value is not None}
    effective = logged | (facts.get("effective") or {})
    return facts | {"log": settings.as_data(), "kv_pool_tokens": pool, "effective": effective}
