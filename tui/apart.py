"""Work whose memory ends with it: in a child process that begins with all that this one holds.

The figures of a long run take several KB a turn while they are worked out. In this process that would stay taken, and a key
would wait for it.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

T = TypeVar("T")

_PATIENCE_S = 120.0
"""After which the child is given up."""


def apart(work: Callable[[], T]) -> T:
    """What `work` returns, which must be picklable. Done here where no child can be made, or where it failed."""
    if sys.platform != "linux":  # elsewhere a child of a process with threads may not go on
        return work()
    reader, writer = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of threads: none of theirs is waited for below
            child = os.fork()
        if not child:
            os.close(reader)  # else a write to a parent that is gone would wait for ever
            _work(work, writer)
    except OSError:
        os.close(writer)
        child = 0
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if child:
        os.close(writer)
    with open(reader, "rb") as stream:
        found = _read(stream.fileno()) if child else b""
    if child:
        with suppress(OSError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return pickle.loads(found) if found else work()


def _work(work: Callable[[], object], writer: int) -> NoReturn:
    """In the child: it looks at what there is, and touches nothing that it shares with its parent. Signals stay blocked: they
    are for the screen."""
    code = 1
    try:
        gc.disable()
        with open(writer, "wb") as stream:
            stream.write(pickle.dumps(work()))
        code = 0
    finally:
        os._exit(code)


def _read(reader: int) -> bytes:
    """All that the child wrote; nothing where it did not come to its end."""
    found = bytearray()
    while select.select([reader], [], [], _PATIENCE_S)[0]:
        piece = os.read(reader, 1 << 16)
        if not piece:
            return bytes(found)
        found += piece
    return b""
