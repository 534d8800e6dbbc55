"""Credentials in what a user gives: logins in URLs, and fields that are named like a key."""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import SplitResult, unquote

_SHORTEST = 8
_LOGIN = re.compile(r"(?<=//)([^/?#]*)@")
_NAME = (
    r"(?:api[-_]?key|access[-_]?key|private[-_]?key|(?:client[-_]?)?secret(?:[-_]?key)?|passw(?:or)?d|passphrase"
    r"|authorization|credentials?|cookie|(?:api|access|auth|bearer|refresh|session|hf|id)[-_]?token)"
)
_FIELD = re.compile(rf"(?:.*[^a-z])?{_NAME}s?|token|key|auth", re.I | re.S)
"""`stop_token`, `max_tokens` and their like are not secrets."""
_IN_TEXT = (
    (re.compile(r"(?<=//)\S*@|(?<=['\"=])(?!https?:)\S*@"), "…@"),
    (re.compile(r"([?#])[^\s,]+"), r"\1…"),
    (re.compile(rf"({_NAME}s?[\"']?\s*[=:]\s*)[^,]+", re.I), r"\1…"),
)


def split_login(url: str) -> tuple[str, str | None]:
    """The address, and the `user:password` that stood in it."""
    found = _LOGIN.search(url)
    return (url, None) if found is None else (url[: found.start()] + url[found.end() :], found[1])


def without_login(url: str) -> str:
    """The URL without a user name and password: what may be shown and written down."""
    return split_login(url)[0]


def with_login(url: str, login: str | None) -> str:
    """What is dialled."""
    return url if login is None else url.replace("//", f"//{login}@", 1)


def secrets_of(api_key: str | None, parts: SplitResult) -> tuple[str, ...]:
    """What a server could repeat of what lets us in; words too short to be made up are left."""
    login = (parts.username, parts.password, unquote(parts.username or ""), unquote(parts.password or ""))
    pair = f"{login[2]}:{login[3]}"
    found = {api_key, *login, b64encode(pair.encode()).decode() if login[0] else None}
    return tuple(sorted((one for one in found if one and len(one) >= _SHORTEST), key=len, reverse=True))


def is_secret_field(name: str) -> bool:
    """Whether the value of a request field lets someone in, by its name."""
    return _FIELD.fullmatch(name) is not None


def without_secrets(text: str) -> str:
    """What a user typed, for an error message: it may be malformed, so rather too much is left out than too little."""
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    return text
