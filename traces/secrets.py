"""Secrets and home paths in text: removed while recording or importing, or pointed out before a trace is shared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from replayer.errors import TraceError
from replayer.wire.types import Json

Redact = Callable[[str], str]


class Rule(NamedTuple):
    """`hints` are in lower case; a text without any of them holds no match, which is found out far faster."""

    name: str
    pattern: re.Pattern[str]
    replacement: str
    hints: tuple[str, ...] = ()

    def may_match(self, lower: str) -> bool:
        return not self.hints or any(hint in lower for hint in self.hints)


def _rule(name: str, hints: str, pattern: str, replacement: str | None = None) -> Rule:
    return Rule(name, re.compile(pattern), replacement or f"[redacted {name}]", tuple(hints.split()))


# Patterns meet JSON within JSON (arguments of tools): what stands before a secret may be the `n` of an escaped newline,
# quotes come with any number of backslashes, and none of the patterns may match a quote that ends a value.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_QUOTE = r"(?:\\*[\"'])?"
_IS = rf"{_QUOTE}[ \t]*(?::=|=>|[:=])[ \t]*{_QUOTE}"
_MADE_UP = r"(?![$<{*\[]|your|none\b|null\b|true\b|false\b|\S*(?:xxx|\.\.\.|\*\*\*))"
_VALUE = rf"(?i:{_MADE_UP})[^\s\"'\\,;<>(){{}}\[\]$&]"
_WITH_DIGIT = r"(?=[^\s\"'\\,;&]*\d)(?=[^\s\"'\\,;&]*[A-Za-z])"
_END = r"(?![\w(\[])"

_KEYS = (
    r"sk-(?:[a-z]{2,8}-)?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek …
    r"[pr]k-(?:[a-z]{2,8}-)(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}",
    r"[spr]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"whsec_[A-Za-z0-9+/]{24,}",
    r"(?:gsk_|xai-|pplx-|nvapi-|csk-)[A-Za-z0-9_-]{40,}",  # Groq, xAI, Perplexity, NVIDIA, Cerebras
    r"(?:r8_|tvly-|dop_v1_)[A-Za-z0-9-]{30,}",  # Replicate, Tavily, DigitalOcean
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}",  # SendGrid
)
_PEM = r"PRIVATE KEY(?: BLOCK)?-----"
SECRETS: tuple[Rule, ...] = (
    _rule(
        "private key",
        "-----begin",
        rf"-----BEGIN [A-Z ]*{_PEM}(?:[^\"']{{0,20000}}?-----END [A-Z ]*{_PEM}"
        r"|(?:\s|\\+[nr]|[A-Za-z0-9+/=]{16,})*)",
    ),
    _rule(
        "API key",
        "sk- pk- rk- k_live_ k_test_ whsec_ gsk_ xai- pplx- nvapi- r8_ tvly- dop_v1_ sg.",
        _START + "(?:" + "|".join(_KEYS) + ")",
    ),
    _rule(
        "GitHub token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        _START + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    _rule(
        "GitLab token",
        "glpat- gldt- glrt- glft- glsoat- glcbt- glptt- glagent-",
        _START + r"gl(?:pat|dt|rt|ft|soat|cbt|ptt|agent)-[A-Za-z0-9_.-]{20,}",
    ),
    _rule("Hugging Face token", "hf_ api_org_", _START + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    _rule("AWS key", "akia asia", _START + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _rule(
        "Google key",
        "aiza gocspx- ya29.",
        _START + r"(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,})",
    ),
    _rule(
        "Slack token", "xox xapp-", _START + r"(?:xox[abeposr]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{20,})"
    ),
    _rule("Slack hook", "hooks.slack.com", r"(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}"),
    _rule(
        "package registry token", "npm_ pypi-", _START + r"(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,})"
    ),
    _rule("bot token", ":aa", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _rule("JSON web token", "eyj", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}"),
    _rule("bearer token", "bearer", r"(?i)\bbearer\s+(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{20,}=*"),
    _rule(
        "basic credentials",
        "basic",
        rf"(?i)(authorization{_IS}basic\s+)[A-Za-z0-9+/]{{8,}}={{0,2}}",
        r"\1[redacted basic credentials]",
    ),
    _rule("password in a URL", "://", r"(?<=://)[^\s/:@\"'\\$<{,]{0,64}:(?![$<{])[^\s/\"'\\,]{3,}(?=@)"),
    _rule(
        "key in a URL",
        "key= token= sig= signature= secret= password= auth=",
        r"(?i)([?&](?:api[-_]?key|key|token|access_token|sig|signature|secret|password|auth)=)"
        r"(?=[A-Za-z%_-]*\d)[^\s&\"'\\#<>]{8,}",
        r"\1[redacted key]",
    ),
    _rule(
        "password",
        "password= passwd= secret= token= _key=",
        rf"({_START}[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|(?:API|SECRET|ACCESS|PRIVATE)_KEY)={_QUOTE})"
        rf"{_VALUE}{{6,}}+{_END}",
        r"\1[redacted password]",
    ),
    _rule(
        "password",
        "passw passphrase secret authtoken _token -token _key -key apikey accesskey accountkey secretkey privatekey",
        rf"(?i)((?:{_START}|(?<=_))(?:password|passwd|passphrase|secret|_?authToken|private-token|account_?key"
        r"|(?:x-)?(?:api|access|secret|private|encryption|subscription)[-_]?key"
        rf"|(?:api|auth|access|refresh|bot|session|client)[-_]?(?:token|secret)){_IS})"
        rf"{_WITH_DIGIT}{_VALUE}{{6,}}+{_END}",
        r"\1[redacted password]",
    ),
    _rule(
        "password",
        "password -u --user",
        rf"(\blogin\s+\S+\s+password\s+|(?<![\w-])(?:-u|--user)[ =]{_QUOTE}[\w.@-]+:(?=[^\s\"'\\]*[A-Za-z]))"
        rf"{_VALUE}{{6,}}+",
        r"\1[redacted password]",
    ),
)
_NAME = r"(?!user\b|Shared\b)[\w.-]*\w"
_SLASH = r"\\*/"
HOME_PATHS: tuple[Rule, ...] = (
    _rule(
        "home path",
        "/home /users",
        rf"({_START}(?:{_SLASH}mnt{_SLASH}[a-z]|{_SLASH}[a-z]|{_SLASH}var|{_SLASH}export|//wsl[\w.$]*/[\w.-]+)?"
        rf"{_SLASH}(?:home|Users){_SLASH}){_NAME}",
        r"\1user",
    ),
    _rule(
        "home path",
        r":\ :/ wsl",
        rf"(?i)((?:{_START}[A-Z]:|wsl[\w.$]*[\\/]+[\w.-]+)[\\/]+(?:Users|home)[\\/]+)"
        rf"(?:(?!user\b|Shared\b|Public\b)[\w.-]+(?: [\w.-]+)*(?=[\\/])|{_NAME})",
        r"\1user",
    ),
    _rule("home path", "%2fhome %2fusers", rf"(?i)(%2F(?:home|Users)%2F){_NAME}", r"\1user"),
    _rule("home path", "-home- -users-", r"((?<=[/\\])-(?:home|Users)-)(?!user\b)[A-Za-z0-9]+", r"\1user"),
)
_REMEMBERED = 100_000


def redactor(rules_file: Path | None = None) -> Redact:
    """Replaces secrets and home paths, and what the rules of a file match (`PATTERN` or `PATTERN => TEXT` a line).

    Raises TraceError that names the line of a bad rule.
    """
    rules = (*SECRETS, *HOME_PATHS, *(_from_file(rules_file) if rules_file else ()))
    clean: set[tuple[int, int]] = set()  # every request of a conversation repeats its texts

    def redact(text: str) -> str:
        key = hash(text), len(text)
        if key in clean:
            return text
        cleaned, lower = text, text.lower()
        for rule in rules:
            if rule.may_match(lower):
                cleaned = rule.pattern.sub(rule.replacement, cleaned)
        if cleaned == text and len(clean) < _REMEMBERED:
            clean.add(key)
        return cleaned

    return redact


def cleaned(value: Json, redact: Redact) -> Json:
    """JSON with every text in it cleaned, names of fields as well."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [cleaned(part, redact) for part in value]
    if isinstance(value, dict):
        return {redact(key): cleaned(part, redact) for key, part in value.items()}
    return value


def found_in(text: str) -> Iterator[str]:
    """Names of the kinds of secrets that a text seems to hold."""
    lower = text.lower()
    return (rule.name for rule in SECRETS if rule.may_match(lower) and rule.pattern.search(text))


def _from_file(path: Path) -> Iterator[Rule]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise TraceError(f"--redact-rules {path}: the rules cannot be read ({reason})") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, replacement = line.partition(" => ")
        try:
            yield Rule(f"rule {number}", re.compile(pattern), replacement or "[redacted]")
        except re.error as error:
            raise TraceError(
                f"{path}: line {number}: {pattern!r} is not a regular expression ({error})"
            ) from None
