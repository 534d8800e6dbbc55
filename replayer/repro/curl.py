"""A request as a curl command that a bug report can hold."""

from __future__ import annotations

import shlex

from replayer.wire.credentials import without_login
from replayer.wire.types import PATHS, Request

_MOST_ARGUMENT = 100_000
"""Bytes that fit into one argument of a program: Linux takes 128 KiB (MAX_ARG_STRLEN)."""


def curl(base_url: str, request: Request, api_key_env: str | None = None) -> str:
    """The key stays a variable of the shell, never its value, and the address loses a password that it may have."""
    body = b"".join(bytes(piece) for piece in request.body)
    words = shlex.quote(body.decode("utf-8", "replace"))
    key = f' -H "Authorization: Bearer ${api_key_env}"' if api_key_env else ""
    address = shlex.quote(without_login(base_url) + PATHS[request.wire])
    command = f"curl -sN {address} -H 'Content-Type: application/json'{key} --data-binary"
    if len(words.encode()) <= _MOST_ARGUMENT:
        return f"{command} {words}"
    return f"printf %s {words} | {command} @-"
