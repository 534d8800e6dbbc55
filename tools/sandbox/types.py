"""What goes into a sandbox and what comes out. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from replayer.errors import MissingPartError

MiB = 1 << 20
Grade = Literal["none", "container", "landlock", "full"]
"""From no isolation to all of it; `container` trusts the user's word that this machine is a throw-away one."""

LimitKind = Literal["time", "cpu", "memory", "inodes", "output"]
FileFault = Literal[
    "not_found",
    "not_a_directory",
    "is_a_directory",
    "not_a_file",
    "not_empty",
    "exists",
    "denied",
    "no_space",
    "too_large",
    "timeout",
    "bad_pattern",
    "failed",
]


Block = tuple[int, list[str], list[int]]
"""First row (from 0), lines, and which rows matched."""
Matches = tuple[str, list[Block]]
Found = tuple[list[Matches], bool]
Texts = list[str]
Symbols = list[tuple[int, str, int, int]]
SyntaxFaults = list[tuple[str, int, str]]
Entries = list[tuple[str, str]]


SHELL_STATE = "/tmp/.shell-state"
"""Where shells that keep their folder and variables note them."""


class SandboxLost(MissingPartError):
    """The sandbox ended by itself while it was in use."""


class FileError(Exception):
    """A file operation inside the sandbox failed: a result for the model, never a fault of replayer."""

    def __init__(self, kind: FileFault, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one sandbox may use. Sizes in bytes, times in seconds."""

    timeout: float = 120.0
    """Wall clock of one command."""
    cpu: int = 60
    data: int = 2048 * MiB
    """Writable memory of one process (RLIMIT_DATA: RLIMIT_AS stops Node at half of it)."""
    total: int = 2048 * MiB
    """Memory of all processes and memory file systems together, watched every 50 ms."""
    processes: int = 256
    open_files: int = 1024
    file: int = 256 * MiB
    workspace: int = 1024 * MiB
    tmp: int = 256 * MiB
    home: int = 64 * MiB
    shm: int = 64 * MiB
    inodes: int = 300_000
    output_kept: int = 64 << 10
    """Of a command's output, this much is kept: half from its start, half from its end."""
    output_drained: int = 16 * MiB
    """A command that prints more is killed."""
    read: int = 8 * MiB
    snapshot: int = 256 * MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended. `exit_code` is negative for a signal, None when a limit ended it."""

    exit_code: int | None
    head: bytes
    tail: bytes
    dropped: int
    """Bytes of output between `head` and `tail` that were not kept."""
    timed_out: bool
    limit: LimitKind | None
    duration: float

    @property
    def output(self) -> str:
        """Both ends of what was printed, with a line that says what is missing between them."""
        if not self.dropped:
            return (self.head + self.tail).decode("utf-8", "replace")
        gap = f"\n[… {self.dropped} bytes not kept …]\n"
        return self.head.decode("utf-8", "replace") + gap + self.tail.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of a workspace as a difference to its base; opaque, made inside a sandbox, never unpacked outside."""

    base: str
    delta: bytes
    shell: bytes = b""
    """What a client's shell remembers between its calls (see SHELL_STATE)."""
