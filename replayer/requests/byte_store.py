"""Bytes that many sessions share, kept in an unlinked temporary file instead of anonymous memory."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import NamedTuple

from replayer.errors import RunFolderError

_SEGMENT = 4 << 20


class Span(NamedTuple):
    """A stored range: bytes `begin` to `end` of a segment."""

    segment: int
    begin: int
    end: int


class Spool:
    """Append-only. The kernel may drop its pages at will, so what lies here does not count as the process's own."""

    def __init__(self) -> None:
        self._segments: list[mmap.mmap] = []
        self._used = 0

    def put(self, data: bytes) -> Span:
        """Stores `data`; what is put next lies right behind it unless a new segment begins."""
        if not self._segments or self._used + len(data) > len(self._segments[-1]):
            self._segments.append(_segment(max(_SEGMENT, len(data))))
            self._used = 0
        begin, self._used = self._used, self._used + len(data)
        self._segments[-1][begin : self._used] = data
        return Span(len(self._segments) - 1, begin, self._used)

    def view(self, span: Span) -> memoryview:
        return memoryview(self._segments[span.segment])[span.begin : span.end]


def _segment(size: int) -> mmap.mmap:
    """Raises RunFolderError on a full disk: the space is reserved, so that a later write cannot fail."""
    try:
        with tempfile.TemporaryFile(prefix="replayer-") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:  # macOS
                file.write(bytes(size))
                file.flush()
            return mmap.mmap(file.fileno(), size)
    except OSError as error:
        folder = tempfile.gettempdir()
        raise RunFolderError(
            f"the temporary folder {folder} has no room for the requests' text ({error.strerror}); "
            "free some space, or name another folder with TMPDIR"
        ) from None
