"""Checks that may take long, made by a process that can be ended: the library that makes them cannot be interrupted.

One process, started when the first such check comes. It has 1 s of CPU for each and 100 MiB; what takes more ends it, and after
twenty such ends nothing more is asked of it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import threading
from typing import IO, NamedTuple

import orjson

from replayer.wire.types import Json

LARGE_SCHEMA = 128 << 10
"""Bytes of a schema from which on compiling it may take a second, and hundreds of MiB."""
_LONG = 1_000
"""Characters over which a pattern that looks ahead or back may go many times."""
_LOOKS = re.compile(r"\(\?[^:]|\\\\[1-9k]")
"""In a schema's JSON: groups that look ahead or back, and references to groups."""
_CPU_S = 1.0
_WALL_S = 4.0
"""On a loaded machine CPU time comes late."""
_START_S = 30.0
_MEMORY = 100 << 20
_MOST_ENDED = 20
_HEAD = struct.Struct("!I")
_CHILD = (
    "import sys; sys.path[:] = sys.argv[1:]; from replayer.tools.verdicts.schema_child import main; main()"
)


class Effort(NamedTuple):
    """What of a schema makes checks that no count foresees."""

    large: bool = False
    looks: bool = False
    """It may hold a pattern that looks ahead or back."""

    @classmethod
    def of(cls, schema: object) -> Effort:
        text = written(schema)
        return cls(len(text) > LARGE_SCHEMA, _LOOKS.search(text) is not None)

    def is_long(self, size: int) -> bool:
        """Whether a value whose text has `size` characters is better checked by the worker."""
        return self.large or (self.looks and size > _LONG)


def written(schema: object) -> str:
    """A schema as JSON, whatever numbers it holds."""
    try:
        return orjson.dumps(schema).decode()
    except TypeError:
        return json.dumps(schema)


class Worker:
    """The process; of several threads one asks at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.ended = 0
        """Times that it was ended for what it took."""

    def ask(self, *question: Json) -> Json | None:
        """The answer, as a list; None where it would take too long or too much memory."""
        with self._lock:
            if self.ended >= _MOST_ENDED:
                return None
            try:
                answer = self._asked(orjson.dumps(question))
            except (OSError, EOFError, TimeoutError):
                self.ended += 1
                self.close()
                return None
        return answer

    def _asked(self, question: bytes) -> Json:
        if self._process is None:
            command = [sys.executable, "-c", _CHILD, *sys.path]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
            )  # fmt: skip
            atexit.register(self.close)
            _answer(self._process, _START_S)
        assert self._process.stdin is not None
        send(self._process.stdin, question)
        answer: Json = orjson.loads(_answer(self._process, _WALL_S))
        return answer

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(self.close)
            process.kill()
            with contextlib.suppress(OSError):
                process.communicate()


WORKER = Worker()


def _answer(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], seconds)[0]:
        raise TimeoutError
    return framed(process.stdout)


def framed(stream: IO[bytes]) -> bytes:
    """One message. Raises EOFError."""
    size = _HEAD.unpack(_exactly(stream, _HEAD.size))[0]
    return _exactly(stream, size)


def send(stream: IO[bytes], message: bytes) -> None:
    stream.write(_HEAD.pack(len(message)) + message)
    stream.flush()


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def limit_memory() -> None:
    """In the child: what it has now, and 100 MiB."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_time() -> None:
    """In the child: the signal that comes then ends it."""
    signal.setitimer(signal.ITIMER_PROF, _CPU_S)
