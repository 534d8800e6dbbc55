"""File tools inside the sandbox. A path may be anything that a hostile workspace can hold: fifos, devices, links."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from replayer.tools.sandbox.guest.memory import Head

Result = tuple[Head, bytes]

MOST_LISTED = 2 << 20
"""Characters of names in one listing: in JSON each may take six bytes."""

KINDS = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_a_directory",
    errno.EISDIR: "is_a_directory",
    errno.EEXIST: "exists",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.ENXIO: "not_a_file",
    errno.ENOSPC: "no_space",
    errno.EFBIG: "too_large",
    errno.ENOTEMPTY: "not_empty",
}


class Refused(Exception):
    """A file operation that cannot be done; `kind` is from a closed set."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def kind_of(error: OSError) -> str:
    return KINDS.get(error.errno or 0, "failed")


def operations(read_bytes: int) -> dict[str, Callable[[Head, bytes], Result]]:
    plain: dict[str, Callable[[Head], None]] = {
        "mkdir": lambda head: os.makedirs(head["path"], exist_ok=True),
        "remove": lambda head: remove(head["path"]),
        "copy": lambda head: copy(head["path"], head["to"]),
        "move": lambda head: move(head["path"], head["to"]),
    }
    return {
        "read": lambda head, payload: ({}, read(head["path"], read_bytes)),
        "write": lambda head, payload: write(head["path"], payload),
        "list": lambda head, payload: list_directory(head["path"]),
        "stat": lambda head, payload: ({"kind": describe(os.stat(head["path"]))}, b""),
        **{name: silent(action) for name, action in plain.items()},
    }


def silent(action: Callable[[Head], None]) -> Callable[[Head, bytes], Result]:
    def done(head: Head, payload: bytes) -> Result:
        action(head)
        return {}, b""

    return done


def regular(path: str, flags: int) -> tuple[int, int]:
    """Descriptor and size. Opened without ever waiting: a fifo in the workspace must not hang the worker."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o644)
    facts = os.fstat(descriptor)
    if stat.S_ISREG(facts.st_mode):
        return descriptor, facts.st_size
    os.close(descriptor)
    directory = stat.S_ISDIR(facts.st_mode)
    raise Refused("is_a_directory" if directory else "not_a_file", "Is not a regular file")


def read(path: str, most: int) -> bytes:
    """The whole file; from /proc and other files that report no size too, up to `most` bytes."""
    descriptor, size = regular(path, os.O_RDONLY)
    try:
        data = os.read(descriptor, min(size, most) + 1)
        while len(data) != size and len(data) <= most and (more := os.read(descriptor, 1 << 16)):
            data += more
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise Refused("too_large", f"File is larger than {most} bytes")
    return data


def write(path: str, payload: bytes) -> Result:
    parent = os.path.dirname(path)
    if parent:
        os.makedirs(parent, exist_ok=True)
    created = not os.path.lexists(path)
    descriptor, _ = regular(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.ftruncate(descriptor, 0)
        view = memoryview(payload)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
    return {"created": created}, b""


def list_directory(path: str) -> Result:
    entries: list[list[str]] = []
    left = MOST_LISTED
    with os.scandir(path) as found:
        for entry in found:
            left -= len(entry.name) + 16
            if left < 0:
                raise Refused("too_large", f"Directory has more than {len(entries)} entries")
            entries.append([entry.name, describe(entry.stat(follow_symlinks=False))])
    return {"entries": sorted(entries)}, b""


def describe(facts: os.stat_result) -> str:
    for test, word in ((stat.S_ISDIR, "directory"), (stat.S_ISREG, "file"), (stat.S_ISLNK, "link")):
        if test(facts.st_mode):
            return word
    return "special"


def remove(path: str) -> None:
    import shutil  # costs milliseconds at a start that seldom needs it

    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def copy(path: str, to: str) -> None:
    import shutil

    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    if os.path.isdir(path):
        shutil.copytree(path, to, symlinks=True, copy_function=copy_file)
    else:
        copy_file(path, to)


def copy_file(path: str, to: str) -> None:
    descriptor, _ = regular(path, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as source, open(to, "wb") as target:
        while piece := source.read(1 << 20):
            target.write(piece)
        os.fchmod(target.fileno(), stat.S_IMODE(os.fstat(descriptor).st_mode))


def move(path: str, to: str) -> None:
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    os.rename(path, to)
