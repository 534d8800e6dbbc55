"""Forces a file to disk from a thread of its own: a slow disk delays no session."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

SOONEST = 0.5
"""Seconds between the ends of two writings, by default: sessions may end hundreds of times a second."""


class Syncing:
    """`every`: seconds between two writings, 0 for none but those that are requested. `soonest`: seconds that a
    requested one waits for the one before it, so that requests share one. Costs nothing while nothing is due."""

    def __init__(self, descriptor: int, every: float = 0.0, soonest: float = SOONEST) -> None:
        self._descriptor = descriptor
        self._every = every or None
        self._soonest = soonest
        self._due = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        if every:
            self._start()

    def request(self) -> None:
        """Write soon; does not wait for it."""
        if not self._due.is_set():
            self._due.set()
        if self._thread is None:
            self._start()

    def close(self) -> None:
        """Write now, and end. The descriptor stays open."""
        self._closed.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        self._sync()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="journal-sync", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        last = -self._soonest
        while not self._closed.is_set():
            self._due.wait(self._every)
            self._closed.wait(max(0.0, last + self._soonest - time.monotonic()))
            self._due.clear()
            if not self._closed.is_set():
                self._sync()
                last = time.monotonic()

    def _sync(self) -> None:
        with suppress(OSError):  # a pipe, or a file system without it: what it cannot do, it cannot do later
            getattr(os, "fdatasync", os.fsync)(self._descriptor)  # macOS has only the second
