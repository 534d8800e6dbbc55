"""One line of a journal: the event that it holds, and what shows that it is the one that was written there.

A sealed line begins `{"seq":N,"crc":"XXXXXXXX",`: its number in the file, and the CRC-32 of the digits of N and of all
that follows it. Journals up to schema 2 have lines without a seal; the lines that a later version adds to one are sealed.
"""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import get_args

import orjson
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from replayer.errors import RunFolderError
from replayer.journal.events import EVENT, JOURNAL_SCHEMA, AnyEvent
from replayer.journal.older import loads
from replayer.lazy import dataclass

SEALED_FROM = 3
"""The journal schema from which every line is sealed."""

_HEAD = re.compile(rb'\{"seq":([1-9][0-9]{0,18}),"crc":"([0-9a-f]{8})",')
_SCHEMA = re.compile(rb'"schema_number":([0-9]{1,9})')


def schema_of(line: bytes) -> int | None:
    """The schema number that a journal's first line names."""
    found = _SCHEMA.search(line, 0, 200)
    return int(found[1]) if found else None


class Damage(ValueError):
    """A line is not what was written; the message says in which way."""


def seal(number: int, event: bytes) -> bytes:
    """The `number`th line of a journal, counted from 1. `event` is a JSON object with at least one key."""
    counted = b"%d" % number
    rest = event[1:]
    return b'{"seq":%b,"crc":"%08x",%b\n' % (counted, zlib.crc32(rest, zlib.crc32(counted)), rest)


def number_of(line: bytes) -> int | None:
    """The number in the seal of a whole line; None where the line has no seal. Raises Damage."""
    head = _HEAD.match(line)
    if head is None:
        return None
    counted, crc = head.groups()
    if zlib.crc32(line[head.end() : -1], zlib.crc32(counted)) != int(crc, 16):
        raise Damage("its checksum does not fit what it says")
    return int(counted)


@dataclass(slots=True)
class Order:
    """Follows the numbers of a journal's lines. `last` is None until a line with a seal was met."""

    last: int | None = None
    read: int = 0
    whole: bool = True
    """The file is read from its first line on, so that the number of every line is known."""

    def check(self, line: bytes) -> None:
        """Raises Damage for a line that was changed, or that does not follow the one before."""
        number = number_of(line)
        self.read += 1
        if number is None:
            if self.last is not None or self._must_be_sealed(line):
                raise Damage("it has no checksum, or a damaged one")
            return
        expected = self.last + 1 if self.last is not None else self.read if self.whole else number
        self.last = number
        if number > expected:
            lost = (
                f"line {expected} is" if number == expected + 1 else f"lines {expected} to {number - 1} are"
            )
            raise Damage(f"{lost} missing before it, or out of place")
        if number < expected:
            raise Damage(f"line {number} once more, or out of place")

    def _must_be_sealed(self, line: bytes) -> bool:
        """The first line names the schema. What a later one asks for is not known."""
        first = self.whole and self.read == 1
        return first and SEALED_FROM <= (schema_of(line) or 0) <= JOURNAL_SCHEMA


def encoded(event: AnyEvent) -> bytes:
    """An event as JSON. A lone surrogate in a reply becomes U+FFFD, the only form UTF-8 allows."""
    try:
        return event.__pydantic_serializer__.to_json(event)
    except PydanticSerializationError:
        return orjson.dumps(_without_surrogates(event.model_dump()))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="surrogatepass").decode(errors="replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value


def damaged(path: Path, offset: int, how: str) -> RunFolderError:
    """For the line that starts at byte `offset`."""
    with path.open("rb") as stream:
        number = 1 + stream.read(offset).count(b"\n")
        kind = kind_of(stream.readline())
    return RunFolderError(
        f"{path}, line {number}: a {kind} {how}; `replayer report --salvage` reads what is sound"
    )


def kind_of(line: bytes) -> str:
    """What a damaged line seems to have been."""
    found = next((kind for kind in sorted(KNOWN_TYPES) if f'"{kind}"'.encode() in line), None)
    return f"{found!r} event" if found else "line"


def parsed(line: bytes, path: Path) -> AnyEvent | None:
    """The event of a whole line, None for a type of a later version.

    Raises Damage for what is not an event, RunFolderError for a journal of a later schema.
    """
    try:
        event = EVENT.validate_json(line)
    except ValidationError:
        return _older_or_unknown(line, path)
    if event.type == "run_started":  # `isinstance` of a model is slow
        _check_schema(event.schema_number, path)
    if (event.type == "run_started" or event.type == "run_resumed") and not event.turns:
        return EVENT.validate_python(loads(line))  # its turns have another name in schema 1
    return event


def _check_schema(number: object, path: Path) -> None:
    if isinstance(number, int) and number > JOURNAL_SCHEMA:
        raise RunFolderError(f"{path} has journal schema {number}, this is {JOURNAL_SCHEMA}: update replayer")


def _older_or_unknown(line: bytes, path: Path) -> AnyEvent | None:
    """Migrate a line of an older journal; skip event types that this version does not know."""
    try:
        values = loads(line)
        kind = values["type"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise Damage("not a journal line") from None
    if kind == "run_started":
        _check_schema(values.get("schema_number"), path)
    if str(kind) in KNOWN_TYPES:
        with suppress(ValidationError):
            return EVENT.validate_python(values)
        raise Damage("its values are not those of such an event")
    return None


KNOWN_TYPES = frozenset(model.model_fields["type"].default for model in get_args(get_args(AnyEvent)[0]))
