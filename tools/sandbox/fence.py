"""A memory cgroup around one sandbox, where this process may make one: version 2 (delegated, or root) or version 1 (root).

The kernel then counts everything: shared mappings, memory files, System V segments, socket buffers, pipes, page tables.
Elsewhere the worker counts what it can see (`guest/memory.py`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PREFIX = "replayer-sandbox-"
SLACK = 0.05
"""Room above the limit that the worker watches: the kernel's own limit stands there."""
TCP_SHARE = 0.85
"""Version 1 counts TCP buffers beside the rest and goes some percent over their limit (434.6 of 422.8 MB seen), so theirs
stands lower: with what their processes take, the sum stays at the limit even where the worker looks too late."""
REMOVE_SECONDS = 2.0
ENTER = ("/bin/sh", "-c", 'echo 0 && exec "$@" >/dev/null', "sh")
"""Joins the cgroup whose `cgroup.procs` is its standard output: opened by who may, written by who gave its rights up."""


@dataclass(frozen=True, slots=True)
class Files:
    """What one version of cgroups calls its files. `also` are set where they exist, to a share of the limit."""

    hard: str
    also: tuple[tuple[str, float], ...]
    usage: tuple[str, ...]
    events: str


STAT = "memory.stat"
VERSIONS = {
    2: Files("memory.max", (("memory.swap.max", 0.0),), ("memory.current",), "memory.events"),
    1: Files(
        "memory.limit_in_bytes",
        (("memory.memsw.limit_in_bytes", 1.0), ("memory.kmem.tcp.limit_in_bytes", TCP_SHARE)),
        ("memory.usage_in_bytes", "memory.kmem.tcp.usage_in_bytes"),
        "memory.oom_control",
    ),
}


@dataclass(frozen=True, slots=True)
class Fence:
    """One cgroup. Its descriptors are for the worker, which reads in them and hands them to nobody."""

    folder: Path
    entrance: int
    usage: tuple[int, ...]
    stat: int
    events: int

    @property
    def descriptors(self) -> tuple[int, ...]:
        return *self.usage, self.stat, self.events

    def remove(self) -> None:
        """Everything in it has ended, or is about to."""
        for descriptor in (self.entrance, *self.descriptors):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        until = time.monotonic() + REMOVE_SECONDS
        while self.folder.exists() and time.monotonic() < until:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.002)


def fence(limit: int) -> Fence | None:
    """A new cgroup for `limit` bytes; None where none can be had."""
    place = home()
    return made(*place, limit) if place else None


def kind() -> str:
    """What limits memory here, in a word or two."""
    place = home()
    return f"cgroup v{place[1]}" if place else "counted"


@cache
def home() -> tuple[Path, int] | None:
    """The cgroup below which sandboxes get theirs, and the version; found by trying it."""
    for place, version in places():
        try:
            tried = made(place, version, 64 << 20)
        except OSError:
            continue
        try:
            entered = subprocess.run(
                [*ENTER, "/bin/true"], stdout=tried.entrance, stderr=subprocess.DEVNULL, check=False
            )
            if entered.returncode == 0:
                return place, version
        finally:
            tried.remove()
    return None


def places() -> Iterator[tuple[Path, int]]:
    """This process's own cgroup and those above it, nearest first: a v2 cgroup with processes has no children."""
    own = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or "memory" in controllers.split(","):
                own[2 if not controllers else 1] = path
    for version, path in sorted(own.items(), reverse=True):
        top = mounted(version)
        for place in (top.joinpath(path.lstrip("/")), *top.joinpath(path.lstrip("/")).parents) if top else ():
            if place.is_dir() and (place == top or top in place.parents) and os.access(place, os.W_OK):
                if version == 2:
                    divide(place)
                yield place, version


def divide(place: Path) -> None:
    """Let a delegated v2 cgroup limit the memory of its children. It must hold no process then: where it holds this one
    alone (`systemd-run --user --scope -p Delegate=yes replayer …`), that goes into a child of its own."""
    with contextlib.suppress(OSError):
        if "memory" in (place / "cgroup.subtree_control").read_text().split():
            return
        if (place / "cgroup.procs").read_text().split() == [str(os.getpid())]:
            leaf = place / "replayer"
            leaf.mkdir(exist_ok=True)
            (leaf / "cgroup.procs").write_text("0")
        (place / "cgroup.subtree_control").write_text("+memory")


def mounted(version: int) -> Path | None:
    """Where the hierarchy that limits memory is mounted."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, where, kind_of, options, *_ = line.split()
            if (kind_of, version) == ("cgroup2", 2) or (
                (kind_of, version) == ("cgroup", 1) and "memory" in options.split(",")
            ):
                return Path(where)
    return None


def made(place: Path, version: int, limit: int) -> Fence:
    """Raises OSError where the cgroup cannot be made, or does not limit memory."""
    files = VERSIONS[version]
    clear(place)
    folder = place / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    folder.mkdir()
    opened: list[int] = []
    try:
        hard = int(limit * (1 + SLACK))
        (folder / files.hard).write_text(str(hard))
        for name, share in files.also:
            with contextlib.suppress(OSError):
                (folder / name).write_text(str(int(hard * share)))
        usages = (name for name in files.usage if (folder / name).exists())
        for name in ("cgroup.procs", *usages, STAT, files.events):
            opened.append(os.open(folder / name, os.O_WRONLY if name == "cgroup.procs" else os.O_RDONLY))
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        folder.rmdir()
        raise
    entrance, *usage, stat, events = opened
    return Fence(folder, entrance, tuple(usage), stat, events)


def clear(place: Path) -> None:
    """Remove what a killed process left: cgroups named after one that is gone."""
    for left in place.glob(f"{PREFIX}*"):
        owner = left.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                left.rmdir()
