"""The workspace as a state: made from an index and content, taken down as a difference, put back by comparing.

A restore trusts no time stamp that a guest could have set: every file's content is compared with what it must be.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mmap
import os
import stat
from collections.abc import Iterator
from itertools import count, islice
from typing import Any, NamedTuple

from replayer.tools.sandbox.guest.memory import Head

Result = tuple[Head, bytes]
BASE, DELTA = 0, 1
ENTRY_BYTES = 64
"""What an entry of a snapshot takes beside its path, whose characters may take six bytes each in JSON."""
BATCH = 1000
"""Entries looked at together: a folder may hold more names than fit into memory."""


class Entry(NamedTuple):
    """`kind` is d, f or l; content is `size` bytes at `offset` of `source` (a link's target likewise)."""

    kind: str
    mode: int
    mtime: int
    offset: int = 0
    size: int = 0
    source: int = BASE


State = dict[str, Entry]


class Trees:
    """Knows the base state of the workspace, and how to say any state as a difference to it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.base: State = {}
        self.content: mmap.mmap | None = None

    def load(self, descriptor: int, index_bytes: int) -> Result:
        """Take the base from a sealed memory file (index, then content) and make it on disk."""
        self.content = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
        index = json.loads(self.content[:index_bytes])
        self.base = {path: Entry(kind, mode, mtime, index_bytes + offset, size)
                     for path, kind, mode, mtime, offset, size in index}  # fmt: skip
        return self.restore(b"")

    def restore(self, delta: bytes) -> Result:
        """Make the workspace equal to the base changed by `delta` (empty: the base itself)."""
        target, content = self.target(delta)
        root = self.root
        fresh = not os.listdir(root)
        changed = clear_unknown(root, target)
        umask = os.umask(0)
        for path, entry in target.items():
            full = f"{root}/{path}" if path else root
            if entry.kind == "d":
                with contextlib.suppress(FileExistsError):
                    os.mkdir(full, 0o700)
                continue
            data = content(entry)
            if fresh or not same(full, entry, data):
                make(full, entry, data, fresh)
                changed += 1
        for path, entry in reversed(target.items()):
            if entry.kind == "d":
                full = f"{root}/{path}" if path else root
                os.chmod(full, entry.mode)
                os.utime(full, ns=(entry.mtime, entry.mtime))
        os.umask(umask)
        return {"changed": changed}, b""

    def of_base(self, entry: Entry) -> bytes:
        return self.content[entry.offset : entry.offset + entry.size] if self.content else b""

    def target(self, delta: bytes) -> tuple[State, Any]:
        if not delta:
            return self.base, self.of_base
        length = int.from_bytes(delta[:4], "big")
        head, body = json.loads(delta[4 : 4 + length]), memoryview(delta)[4 + length :]
        gone = set(head["gone"])
        target = {path: entry for path, entry in self.base.items() if path not in gone}
        target.update({path: Entry(*fields) for path, *fields in head["entries"]})

        def content(entry: Entry) -> bytes:
            if entry.source == DELTA:
                return bytes(body[entry.offset : entry.offset + entry.size])
            return self.of_base(entry)

        return dict(sorted(target.items())), content

    def snapshot(self, most: int) -> Result:
        """The difference between the workspace and its base, unless that is larger than `most` bytes."""
        entries: list[list[Any]] = []
        body = bytearray()
        seen = set()
        listed = 0
        for path, facts in scan(self.root):
            seen.add(path)
            entry, data = examine(f"{self.root}/{path}" if path else self.root, facts)
            if entry is None:
                continue
            known = self.base.get(path)
            if known and equal(known, entry) and (entry.kind == "d" or self.of_base(known) == data):
                continue
            entries.append([path, *entry._replace(offset=len(body), source=DELTA)])
            body += data
            listed += len(path) * (1 if path.isascii() else 6) + ENTRY_BYTES
            if max(len(body), listed) > most:
                raise OSError(errno.EFBIG, "The workspace has changed too much")
        gone = [path for path in self.base if path not in seen]
        head = json.dumps({"gone": gone, "entries": entries}).encode()
        return {"changed": len(entries), "gone": len(gone)}, len(head).to_bytes(4, "big") + head + body


def equal(known: Entry, found: Entry) -> bool:
    """A folder's time says nothing about content, and every write inside changes it."""
    if known.kind != found.kind or known.mode != found.mode:
        return False
    return found.kind == "d" or (known.size == found.size and known.mtime == found.mtime)


def examine(full: str, facts: os.stat_result) -> tuple[Entry | None, bytes]:
    mode, mtime = stat.S_IMODE(facts.st_mode), facts.st_mtime_ns
    if stat.S_ISDIR(facts.st_mode):
        return Entry("d", mode, mtime), b""
    if stat.S_ISLNK(facts.st_mode):
        data = os.fsencode(os.readlink(full))
        return Entry("l", 0o777, mtime, 0, len(data)), data
    if stat.S_ISREG(facts.st_mode):
        data = read_all(full, facts.st_size)
        return Entry("f", mode, mtime, 0, len(data)), data
    return None, b""


def scan(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below and including `root`, parents first; paths relative to it."""
    yield "", os.lstat(root)
    pending = [""]
    while pending:
        folder = pending.pop()
        for name in sorted(names(f"{root}/{folder}")):
            path = f"{folder}/{name}" if folder else name
            with contextlib.suppress(OSError):
                facts = os.lstat(f"{root}/{path}")
                yield path, facts
                if stat.S_ISDIR(facts.st_mode):
                    pending.append(path)


def names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except PermissionError:
        os.chmod(folder, 0o700)
        return os.listdir(folder)


def clear_unknown(root: str, target: State) -> int:
    """Remove what the target state does not have, and what stands where it has another kind."""
    cleared = 0
    pending = [""]
    while pending:
        folder = pending.pop()
        place = f"{root}/{folder}" if folder else root
        os.chmod(place, 0o700)
        known: dict[str, None] = {}
        while removed := clear_folder(place, folder, root, target, known):
            cleared += removed
        pending += known
    return cleared


def clear_folder(place: str, folder: str, root: str, target: State, known: dict[str, None]) -> int:
    """How many entries were removed; notes the folders that stay. A listing may skip entries while others go away: it is
    repeated until nothing was."""
    removed = 0
    for batch in batches(place):
        for found in batch:
            path = f"{folder}/{found.name}" if folder else found.name
            wanted = target.get(path)
            directory = found.is_dir(follow_symlinks=False)
            if wanted is None or (wanted.kind == "d") != directory:
                discard(found.path, directory, root)
                removed += 1
            elif directory:
                known[path] = None
    return removed


def batches(folder: str) -> Iterator[list[os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        while batch := list(islice(entries, BATCH)):
            yield batch


def discard(path: str, directory: bool, root: str) -> None:
    """Remove a tree of any depth. Folders are hung up beside each other first, so that no path gets too long."""
    if not directory:
        os.unlink(path)
        return
    numbers = count(1)
    pending = [path]
    while pending:
        folder = pending.pop()
        os.chmod(folder, 0o700)
        while batch := next(batches(folder), None):
            for entry in batch:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)
                lifted = f"{root}/.discard-{os.getpid()}-{next(numbers)}"
                os.rename(entry.path, lifted)
                pending.append(lifted)
        os.rmdir(folder)


def same(full: str, entry: Entry, data: bytes) -> bool:
    try:
        facts = os.lstat(full)
    except OSError:
        return False
    if facts.st_mtime_ns != entry.mtime or facts.st_size != entry.size:
        return False
    if entry.kind == "l":
        return stat.S_ISLNK(facts.st_mode) and os.fsencode(os.readlink(full)) == data
    if facts.st_mode != stat.S_IFREG | entry.mode or facts.st_nlink != 1:
        return False
    return read_all(full, entry.size) == data


def read_all(full: str, size: int) -> bytes:
    """The content of a file of this size."""
    descriptor = open_owned(full)
    try:
        data = os.read(descriptor, size + 1)
        while len(data) < size and (more := os.read(descriptor, size - len(data))):
            data += more
        return data
    finally:
        os.close(descriptor)


def open_owned(full: str) -> int:
    """Open a regular file even where its owner took the right to read away."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(full, flags)
    except PermissionError:
        mode = stat.S_IMODE(os.lstat(full).st_mode)
        os.chmod(full, mode | 0o400)
        descriptor = os.open(full, flags)
        os.fchmod(descriptor, mode)
        return descriptor


def make(full: str, entry: Entry, data: bytes, fresh: bool) -> None:
    """The umask is 0 here: modes are meant as they are. Where the tree is fresh, nothing can be in the way."""
    if not fresh:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(full)
    if entry.kind == "l":
        os.symlink(data, full)
        os.utime(full, ns=(entry.mtime, entry.mtime), follow_symlinks=False)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(full, flags, entry.mode)
    try:
        sent = os.write(descriptor, data)
        while sent < len(data):
            sent += os.write(descriptor, memoryview(data)[sent:])
        os.utime(descriptor, ns=(entry.mtime, entry.mtime))
    finally:
        os.close(descriptor)
