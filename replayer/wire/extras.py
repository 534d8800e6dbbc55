"""What engines say beyond the standard, merged over the chunks of a reply; and their error objects."""

from __future__ import annotations

import re

from replayer.lazy import dataclass
from replayer.wire.types import Json, JsonObject

ENVELOPE = frozenset({"choices", "object", "created", "usage", "error"})
"""Keys of a chunk that are read elsewhere or tell nothing."""
CHOICE = frozenset({"index", "delta", "message", "finish_reason", "usage"})
DELTA = frozenset({"role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call"})


def merge(extra: JsonObject, source: JsonObject, known: frozenset[str]) -> bool:
    """Add what `source` holds beyond the `known` keys. The last value wins, null never does; `token_ids` are
    joined, and so are the lists in `logprobs`: they are the evidence of what the model really wrote.

    Returns whether doing it twice would be the same as doing it once.
    """
    once = True
    for key, value in source.items():
        if value is None or key in known:
            continue
        if key == "token_ids" and isinstance(value, list):
            extra[key] = _joined(extra.get(key), value)
            once = False
        elif key == "logprobs" and isinstance(value, dict):
            before = extra.get(key)
            extra[key] = _merged_logprobs(before if isinstance(before, dict) else {}, value)
            once = False
        else:
            extra[key] = value
    return once


def _joined(before: object, value: list[object]) -> list[Json]:
    if not isinstance(before, list):
        return list(value)
    before.extend(value)
    return before


def _merged_logprobs(before: JsonObject, value: JsonObject) -> JsonObject:
    for key, part in value.items():
        if isinstance(part, list):
            before[key] = _joined(before.get(key), part)
        elif part is not None:
            before[key] = part
    return before


_LONGEST = 1 << 20
"""Characters that are kept of an error's message, and of its body."""


@dataclass(frozen=True, slots=True)
class EngineError:
    """An error object in place of a chunk: the engine's own words and, where it gave one, its status."""

    message: str
    status: int | None
    body: str
    meant: int = 500
    """The status, or the one that the error's type stands for."""


_TYPES = re.compile(r"(invalid_?request|bad_?request)|(authentication)|(permission)|(not_?found)", re.I)
_STATUSES = (500, 400, 401, 403, 404)
"""What errors of OpenAI's, Anthropic's and vLLM's kind call themselves where they state no status."""


def read_error(chunk: object, body: str) -> EngineError | None:
    """The error that a payload states, in any of the shapes engines use; None for anything else."""
    if not isinstance(chunk, dict):
        return None
    error: Json = chunk.get("error") or (chunk if chunk.get("object") == "error" else None)
    if not error and '"loc"' in body and isinstance(chunk.get("detail"), list):
        error = {"message": body, "code": 422}  # FastAPI's, of a request that it cannot read
    if not error:
        return None
    if not isinstance(error, dict):
        return EngineError(str(error)[:_LONGEST], None, body[:_LONGEST])
    code = error.get("code")
    status = code if type(code) is int and 400 <= code <= 599 else None
    named = _TYPES.match(str(error.get("type") or ""))
    meant = status or _STATUSES[named.lastindex or 0 if named else 0]
    return EngineError(str(error.get("message") or body)[:_LONGEST], status, body[:_LONGEST], meant)
