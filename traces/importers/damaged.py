"""JSON that is damaged, or that is several values where one was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

import jiter
import orjson

from replayer.traces.importers.values import loads

_BETWEEN = re.compile(r"[\s,\x00\x1e\ufeff]*")
_LINE_END = re.compile(r"[\r\n]+")


def divided(text: str) -> Iterator[str]:
    """The JSON values that stand one behind another, each on one line; what follows the last sound one comes whole."""
    decoder = json.JSONDecoder()
    position = _BETWEEN.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        try:
            end = decoder.raw_decode(text, position)[1]
        except (ValueError, RecursionError):
            end = len(text)
        yield _LINE_END.sub(" ", text[position:end])
        position = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]


def salvaged(data: bytes) -> object:
    """What stands before the damage of a JSON text. Raises ValueError when nothing does."""
    ends = [len(data)]
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        prefix = error.doc[: error.pos]
        ends.append(len(prefix.encode("utf-8", "replace")) if isinstance(prefix, str) else error.pos)
    for end in ends:
        with suppress(ValueError, TypeError):
            value = jiter.from_json(data[:end], partial_mode=True, catch_duplicate_keys=False)
            return loads(orjson.dumps(value))
    raise ValueError("nothing can be read")
