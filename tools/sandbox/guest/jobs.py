"""Runs a function of this archive in a child under a time limit, so that nothing can hang the worker."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import time
from collections.abc import Callable

from replayer.tools.sandbox.guest import commands, search, symbols
from replayer.tools.sandbox.guest.memory import Head

JOBS: dict[str, Callable[[Head], Head]] = {
    "grep": search.grep,
    "find": search.find,
    "outline": symbols.outline,
    "check_syntax": symbols.check_syntax,
}
MOST_BYTES = 8 << 20


def run(head: Head, settings: Head, link: int) -> tuple[Head, bytes]:
    """`head`: name, timeout, and the job's own arguments. Answers the job's result."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    with commands.expendable(settings):
        pid = os.fork()
    if pid == 0:
        child(head, writing)
    os.close(writing)
    try:
        data = gather(reading, time.monotonic() + head["timeout"], link)
    finally:
        os.close(reading)
        commands.sweep(pid)
    if data is None:
        return {"error": "timeout", "message": "Search took too long"}, b""
    result: Head = json.loads(data or b'{"error": "failed", "message": "Search failed"}')
    return result, b""


def child(head: Head, writing: int) -> None:
    """Never returns: nothing of the worker may run twice."""
    try:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        result = JOBS[head["name"]](head)
    except re.error as error:
        result = {"error": "bad_pattern", "message": str(error)}
    except (OSError, MemoryError, RecursionError, OverflowError, SyntaxError, ValueError) as error:
        result = {"error": "failed", "message": str(error)}
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(json.dumps(result).encode())
    os._exit(0)


def gather(reading: int, deadline: float, link: int) -> bytes | None:
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    poll.register(link, 0)
    data = bytearray()
    while len(data) < MOST_BYTES:
        left = deadline - time.monotonic()
        ready = dict(poll.poll(left * 1000)) if left > 0 else {}
        if link in ready:
            raise commands.HostGone
        if not ready:
            return None
        chunk = os.read(reading, 1 << 16)
        if not chunk:
            return bytes(data)
        data += chunk
    return None
