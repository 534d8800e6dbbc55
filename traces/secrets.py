"""Secrets and home paths in text: removed while recording or importing, or pointed out before a trace is shared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from replayer.errors import TraceError

Redact = Callable[[str], str]


class Rule(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    replacement: str


def _rule(name: str, pattern: str, replacement: str | None = None) -> Rule:
    return Rule(name, re.compile(pattern), replacement or f"[redacted {name}]")


# Patterns are used on JSON text as well: none may match a quote, or what stands behind one.
SECRETS: tuple[Rule, ...] = (
    _rule(
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[nr])*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
    ),
    _rule("API key", r"\b(?:sk|pk|rk)-(?:ant-|proj-|live-|or-v1-)?[A-Za-z0-9_-]{20,}"),
    _rule("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    _rule("GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _rule("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}"),
    _rule("AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _rule("Google key", r"\bAIza[A-Za-z0-9_-]{35}"),
    _rule("Slack token", r"\bxox[abposr]-[A-Za-z0-9-]{10,}"),
    _rule("npm token", r"\bnpm_[A-Za-z0-9]{36}"),
    _rule("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"),
    _rule("bearer token", r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{20,}=*"),
    _rule("password in a URL", r"(?<=://)[^\s/:@\"']{1,64}:[^\s/@\"']{3,}(?=@)"),
)
HOME_PATHS: tuple[Rule, ...] = (
    _rule("home path", r"(?<![A-Za-z0-9])/(home|Users)/(?!user\b)[A-Za-z0-9._-]+", r"/\1/user"),
    _rule("home path", r"([A-Za-z]:\\{1,2}Users\\{1,2})(?!user\b)[A-Za-z0-9._ -]+", r"\1user"),
)


def redactor(rules_file: Path | None = None) -> Redact:
    """Replaces secrets and home paths, and what the rules of a file match (`PATTERN` or `PATTERN => TEXT` a line).

    Raises TraceError that names the line of a bad rule.
    """
    rules = (*SECRETS, *HOME_PATHS, *(_from_file(rules_file) if rules_file else ()))

    def redact(text: str) -> str:
        for rule in rules:
            text = rule.pattern.sub(rule.replacement, text)
        return text

    return redact


def found_in(text: str) -> Iterator[str]:
    """Names of the kinds of secrets that a text seems to hold."""
    return (rule.name for rule in SECRETS if rule.pattern.search(text))


def _from_file(path: Path) -> Iterator[Rule]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise TraceError(f"--redact-rules {path}: the rules cannot be read ({reason})") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, replacement = line.partition(" => ")
        try:
            yield Rule(f"rule {number}", re.compile(pattern), replacement or "[redacted]")
        except re.error as error:
            raise TraceError(
                f"{path}: line {number}: {pattern!r} is no regular expression ({error})"
            ) from None
