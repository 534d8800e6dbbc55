"""What the worker of `schema_worker` runs: the same checks, one question after another, until its input ends."""

from __future__ import annotations

import json
import sys
from functools import lru_cache

import orjson

from replayer.tools.verdicts.schema_check import Validator, as_row
from replayer.tools.verdicts.schema_worker import framed, limit_memory, limit_time, send
from replayer.tools.verdicts.structured import problem
from replayer.traces.schema import ToolSchema
from replayer.wire.types import Json

_NAME = "tool"


def main() -> None:
    limit_memory()
    send(sys.stdout.buffer, b"ready")
    while True:
        try:
            question = orjson.loads(framed(sys.stdin.buffer))
        except EOFError:
            return
        limit_time()
        send(sys.stdout.buffer, orjson.dumps(_answered(*question)))


def _answered(kind: str, schema: str, text: str, strict: bool, index: int | None) -> Json:
    if kind == "answer":
        return [problem(text, json.loads(schema), here=True)]
    found = _validator(schema, strict).check(_NAME, text, index)
    return [as_row(fault) for fault in found.faults]


@lru_cache(maxsize=16)
def _validator(schema: str, strict: bool) -> Validator:
    tool = ToolSchema(name=_NAME, description="", parameters=json.loads(schema), strict=strict)
    return Validator([tool], here=True)
