"""The host side of the attack suite: canaries that no sandbox may reach."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .attacks import SECRET


@dataclass
class Host:
    """A readable and writable file, listeners, a process and a variable, all on this machine."""

    folder: str
    file: str
    abstract: str
    pathname: str
    tcp: socket.socket
    process: subprocess.Popen[bytes]

    @property
    def names(self) -> dict[str, object]:
        port = self.tcp.getsockname()[1]
        return {**{name: getattr(self, name) for name in ("folder", "file", "abstract", "pathname")},
                "port": port, "pid": self.process.pid}  # fmt: skip

    def untouched(self) -> bool:
        return Path(self.file).read_text() == SECRET and sorted(os.listdir(self.folder)) == ["file", "socket"]

    def visited(self) -> bool:
        self.tcp.setblocking(False)
        try:
            self.tcp.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def cgroup(self) -> str:
        return os.readlink("/proc/self/ns/cgroup")

    def alive(self) -> bool:
        return self.process.poll() is None


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    folder = Path("/var/tmp", f"replayer-canary-{secrets.token_hex(6)}")
    folder.mkdir()
    file = folder / "file"
    file.write_text(SECRET)
    folder.chmod(0o777)
    file.chmod(0o666)
    monkeypatch.setenv("SECRET_TOKEN", SECRET)
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as pathname,
        subprocess.Popen(["sleep", "300"]) as process,
    ):
        abstract.bind(f"\0{folder.name}")
        abstract.listen()
        pathname.bind(str(folder / "socket"))
        pathname.listen()
        (folder / "socket").chmod(0o777)
        made = subprocess.run(["ipcmk", "-M", "4096"], capture_output=True, text=True, check=True)
        yield Host(str(folder), str(file), folder.name, str(folder / "socket"), tcp, process)
        subprocess.run(["ipcrm", "-m", made.stdout.split()[-1]], check=True)
        process.kill()
    (folder / "socket").unlink()
    file.unlink()
    folder.rmdir()
