"""The credentials that a request carries, wherever it carries them, so that no recording repeats them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote_to_bytes

_NAMED = re.compile(
    rb"auth|token|secret|passw|credential|cookie|signature|api-?key|(?:^|[-_])(?:key|sig|code)$", re.I
)
"""Names of header fields and query parameters whose value lets someone in."""
_IN_BODY = re.compile(
    rb'("(?:api_?key|access_token|auth_token|authorization|password)"\s*:\s*")((?:[^"\\]|\\.)+)(?=")', re.I
)
HIDDEN = "[redacted credential]"
_PLACEHOLDERS = frozenset(
    {b"none", b"null", b"empty", b"dummy", b"test", b"local", b"ollama", b"lm-studio", b"no-key", b"anything"}
    | {b"bearer", b"basic", b"true", b"false", b"sk-no-key-required", b"not-needed", b"placeholder"}
)
"""What people put where a local server asks for no key."""
_SHORTEST = 4
_LONG = 16
_MADE_UP = re.compile(rb"(?=.{8}).*[0-9]", re.DOTALL)


def in_head(head: bytes) -> tuple[bytes, ...]:
    """Values from headers, cookies and the query string of a request's head, the longest first."""
    line, _, lines = head.partition(b"\r\n")
    found = {*_from_query(line), *(value for row in lines.split(b"\r\n") for value in _from_header(row))}
    return _longest_first(found)


def in_body(body: bytes) -> tuple[bytes, ...]:
    """Values of fields of a JSON body that are named like a credential."""
    return _longest_first({value for _, value in _IN_BODY.findall(body)})


def without_fields(body: bytes) -> bytes:
    """A JSON body whose fields that are named like a credential hold none, whatever it looks like."""
    return _IN_BODY.sub(rb"\g<1>" + HIDDEN.encode(), body)


def unmistakable(credentials: Iterable[bytes]) -> tuple[bytes, ...]:
    """Those that no conversation holds as a word: they can be removed from any text."""
    return tuple(value for value in credentials if len(value) >= _LONG or _MADE_UP.search(value))


def _longest_first(found: Iterable[bytes]) -> tuple[bytes, ...]:
    kept = {value for value in found if len(value) >= _SHORTEST and value.lower() not in _PLACEHOLDERS}
    return tuple(sorted(kept, key=lambda value: (-len(value), value)))


def _from_query(line: bytes) -> Iterator[bytes]:
    for pair in line.split(b" ")[1].partition(b"?")[2].split(b"&") if line.count(b" ") == 2 else ():
        name, _, value = pair.partition(b"=")
        if _NAMED.search(name):
            yield value
            yield unquote_to_bytes(value.replace(b"+", b" "))


def _from_header(row: bytes) -> Iterator[bytes]:
    name, _, value = row.partition(b":")
    if not _NAMED.search(name.strip()):
        return
    for part in value.split(b";"):
        word = part.strip().rpartition(b" ")[2]
        yield word
        yield part.strip().partition(b"=")[2]
        if value.strip()[:6].lower() == b"basic ":
            with suppress(binascii.Error):
                both = base64.b64decode(word, validate=True)
                yield from (both, both.partition(b":")[2])
