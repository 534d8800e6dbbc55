"""Old traces, read as if they were written today: one converter per schema number, applied in a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from replayer.errors import TraceError
from replayer.traces.schema import SCHEMA
from replayer.wire.types import JsonObject

Converter = Callable[[JsonObject], JsonObject]

CONVERTERS: dict[int, Converter] = {}
"""Schema number -> the function that turns one record of that schema into one of the next."""


def check_schema(version: object, where: str) -> int:
    """Raises TraceError for a number from the future or none at all."""
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise TraceError(f"{where}: the header has no schema number")
    if version > SCHEMA:
        raise TraceError(
            f"{where}: schema {version} is newer than this replayer reads ({SCHEMA}): update replayer"
        )
    return version


def migrate(
    record: JsonObject,
    version: int,
    target: int = SCHEMA,
    converters: Mapping[int, Converter] = CONVERTERS,
) -> JsonObject:
    """A record of schema `version` in today's form. Raises TraceError when a link of the chain is missing."""
    for number in range(version, target):
        if number not in converters:
            raise TraceError(f"no converter from schema {number}: open the file with an older replayer")
        record = converters[number](record)
    return record
