"""A request as a curl command that a bug report can hold."""

from __future__ import annotations

import shlex

from replayer.wire.types import Request


def curl(base_url: str, request: Request, api_key_env: str | None = None) -> str:
    """The key stays a variable of the shell, never its value."""
    body = b"".join(bytes(piece) for piece in request.body).decode("utf-8", "replace")
    key = f' -H "Authorization: Bearer ${api_key_env}"' if api_key_env else ""
    return (
        f"curl -sN {shlex.quote(base_url + '/chat/completions')} "
        f"-H 'Content-Type: application/json'{key} --data-binary {shlex.quote(body)}"
    )
