"""A screen in a process of its own under a real pseudo-terminal, as a user has it: keys in, bytes out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Sequence

SIZE = (200, 50)
_CONTROL = re.compile(
    rb"\x1b\[[0-9;?<>=$]*[ -/]*[@-~]|\x1b[PX^_\]].*?(?:\x1b\\|\x07)|\x1b[@-Z\\-_]", re.DOTALL
)
PATIENCE = 60.0


class PtyScreen:
    """Runs a command on a terminal of `SIZE`; what it paints is read all the time, as terminals do."""

    def __init__(self, command: Sequence[str], size: tuple[int, int] = SIZE) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        self._painted = bytearray()
        self.written = 0
        """Bytes in all."""
        self._news = threading.Condition()
        self._closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:
                data = b""
            with self._news:
                self._closed = not data
                self._painted += data
                self.written += len(data)
                self._news.notify_all()
            if not data:
                return

    def wait_for(self, words: str, keys: bytes = b"") -> float:
        """Seconds from pressing `keys` until `words` are painted. Raises TimeoutError."""
        wanted = words.encode()
        with self._news:
            self._painted.clear()
        began = time.monotonic()
        os.write(self._master, keys)
        with self._news:
            while wanted not in _CONTROL.sub(b"", bytes(self._painted)):
                left = PATIENCE - (time.monotonic() - began)
                if left < 0 or self._closed:
                    raise TimeoutError(
                        f"{words!r} was not painted: {_CONTROL.sub(b'', bytes(self._painted))[-500:]!r}"
                    )
                self._news.wait(left)
        return time.monotonic() - began

    def cpu(self) -> float:
        """Seconds of processor time that the process has used."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Resident memory at its largest."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        os.close(self._master)
