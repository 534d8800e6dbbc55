"""What a line of a server's log can say, what its first part says of settings, and the tools to read it. The lines themselves stand with each kind.

Patterns are searched for, so container, journald and colour prefixes do not matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any

from replayer.engines.registry import KINDS
from replayer.lazy import dataclass
from replayer.wire.credentials import is_secret_field
from replayer.wire.types import JsonObject

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NUMBER = r"([0-9][0-9.,]*)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSample:
    """What one line (or two that belong together) says of a moment. Shares are 0..1, unknown is None."""

    kind: str = ""
    decode_tok_s: float | None = None
    prefill_tok_s: float | None = None
    running: int | None = None
    waiting: int | None = None
    preempted: int | None = None
    """Requests whose place in the KV pool was taken since the line before."""
    kv_used: float | None = None
    hit_rate: float | None = None
    """As the engine prints it: over its last requests (vLLM)."""
    acceptance_rate: float | None = None
    acceptance_length: float | None = None
    drafted: int | None = None
    accepted: int | None = None
    new_tokens: int | None = None
    cached_tokens: int | None = None


_WHOLE = frozenset(item.name for item in fields(LogSample) if str(item.type).startswith("int"))


@dataclass(slots=True)
class LogSettings:
    """What was asked of a server and what it made of it. `effective` has common words where there are such;
    `notes` are the server's own sentences about a change."""

    kind: str | None = None
    version: str | None = None
    asked: JsonObject = field(default_factory=dict)
    effective: JsonObject = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kv_pool_tokens: int | None = None
    swa_pool_tokens: int | None = None

    def as_data(self) -> JsonObject:
        asked = {name: value for name, value in self.asked.items() if not is_secret_field(name)}
        return {name: value for name, value in asdict(self).items() if name != "kind"} | {"asked": asked}


@dataclass(frozen=True, slots=True)
class LogPatterns:
    """The lines of one kind: words that mark a line, the more particular ones first, and who reads it."""

    samples: tuple[tuple[str, Callable[[str], LogSample | None]], ...]
    settings: tuple[tuple[str, Callable[[LogSettings, str], None]], ...]


def clean(line: str) -> str:
    return _ANSI.sub("", line).rstrip("\r\n")


def number(pattern: str, line: str) -> float | None:
    """The figure after a label."""
    found = re.search(pattern + r"\s*" + _NUMBER, line)
    return None if found is None else float(found[1].replace(",", "").rstrip("."))


def integer(pattern: str, line: str) -> int | None:
    found = number(pattern, line)
    return None if found is None else int(found)


def figures(**labels: str) -> Callable[[str], LogSample]:
    """Reads the figures of a sample by the words before them; a label that begins with % stands before a percentage."""

    def read(line: str) -> LogSample:
        return LogSample(**{name: _figure(name, label, line) for name, label in labels.items()})

    return read


def _figure(name: str, label: str, line: str) -> Any:
    found = number(label.removeprefix("%"), line)
    if found is None:
        return None
    return int(found) if name in _WHOLE else found / 100 if label.startswith("%") else found


def pairs(text: str) -> JsonObject:
    """`a='x', b=1, c=[1, 2]` with the values of simple types."""
    return {name: literal(value) for name, value in re.findall(r"(\w+)=('[^']*'|\[[^\]]*\]|[^,()]+)", text)}


def literal(text: str) -> object:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


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
