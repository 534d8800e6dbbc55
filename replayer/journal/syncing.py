"""Forces a file to disk from a thread of its own: a slow disk delays no session."""

from __future__ import annotations

import os
import threading
from contextlib import suppress


def _to_disk(descriptor: int) -> None:
    getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has only the second


class Syncing:
    """`every`: seconds between two writings, 0 for none but those that are requested. Costs nothing while nothing is due."""

    def __init__(self, descriptor: int, every: float = 0.0) -> None:
        self._descriptor = descriptor
        self._every = every or None
        self._due = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        if every:
            self._start()

    def request(self) -> None:
        """Write soon; does not wait for it."""
        self._due.set()
        if self._thread is None:
            self._start()

    def close(self) -> None:
        """Write now, and end. The descriptor stays open."""
        self._closed = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        self._sync()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="journal-sync", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed:
            self._due.wait(self._every)
            self._due.clear()
            if not self._closed:
                self._sync()

    def _sync(self) -> None:
        with suppress(OSError):  # a pipe, or a file system without it: what it cannot do, it cannot do later
            _to_disk(self._descriptor)
