"""The credentials that a request carries, wherever it carries them, so that no recording repeats them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

_HEADERS = frozenset(
    {b"authorization", b"proxy-authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie"}
)
_QUERY = frozenset({"key", "api_key", "api-key", "apikey", "token", "access_token", "sig", "code"})
_IN_BODY = re.compile(rb'"(?:api_?key|access_token|authorization|password)"\s*:\s*"([^"\\]{8,})"', re.I)
_SHORTEST = 16
"""Shorter values are what people put where a local server asks for none ("lm-studio"); text may hold them as words."""


def in_head(head: bytes) -> tuple[bytes, ...]:
    """Values from headers, cookies and the query string of a request's head."""
    line, _, lines = head.partition(b"\r\n")
    found = {*_from_query(line), *(value for row in lines.split(b"\r\n") for value in _from_header(row))}
    return tuple(value for value in sorted(found) if len(value) >= _SHORTEST)


def in_body(body: bytes) -> tuple[bytes, ...]:
    """Values of fields of a JSON body that are named like a credential."""
    return tuple(sorted(set(_IN_BODY.findall(body))))


def _from_query(line: bytes) -> Iterator[bytes]:
    query = line.split(b" ")[1].partition(b"?")[2] if line.count(b" ") == 2 else b""
    for pair in query.split(b"&"):
        name, _, value = pair.partition(b"=")
        if name.decode("latin-1").lower() in _QUERY:
            yield value
            yield from (text.encode() for _, text in parse_qsl(pair.decode("latin-1")))


def _from_header(row: bytes) -> Iterator[bytes]:
    name, _, value = row.partition(b":")
    if name.strip().lower() not in _HEADERS:
        return
    for part in value.split(b";"):
        part = part.strip()
        yield part.rpartition(b" ")[2]
        yield part.partition(b"=")[2]
