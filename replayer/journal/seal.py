"""What shows that a line of the journal is the one that was written there: its number in the file, and a checksum.

A sealed line begins `{"seq":N,"crc":"XXXXXXXX",`; the checksum is the CRC-32 of the digits of N and of all that follows
it. Journals up to schema 2 have lines without a seal; the lines that a later version adds to one are sealed.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from replayer.journal.events import JOURNAL_SCHEMA

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
