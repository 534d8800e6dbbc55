"""The run folder: copies of the traces, and `journal.jsonl` (the plan in its first line), the only truth about a run.

RUN/plan.json       the resolved plan
RUN/journal.jsonl   one fact per line, append-only
RUN/traces/         a copy of each trace
RUN/engines/        logs of the engines that the run started
RUN/live/           text now streaming, for screens only
RUN/lock            held by the one writer; its pid
RUN/shards/K/       the same of a process that drove a share of the sessions: journal, live text, lock

Every line of the journal is sealed (see `seal`), and forced to disk at the end of each session and every few seconds.
All of it is for its owner alone (0700, files 0600): prompts and replies are nobody else's business.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from operator import itemgetter
from pathlib import Path

import orjson

from replayer.errors import RunFolderError
from replayer.journal.events import AnyEvent, ShardClock, TurnStarted
from replayer.journal.lines import Damage, Order, damaged, encoded, parsed, seal
from replayer.journal.older import loads
from replayer.journal.parts import JOURNAL, Line, journal_of, parts
from replayer.journal.syncing import SOONEST, Syncing
from replayer.lazy import dataclass

_UNTIMED = b'{"at":0,'


def runs_root() -> Path:
    """Where runs lie when the user names no folder: `$REPLAYER_RUNS`, else `runs` in the current folder."""
    return Path(os.environ.get("REPLAYER_RUNS") or "runs")


def new_run_folder(label: str, out: str | Path | None = None) -> Path:
    """`out` where the user names one, which `list_runs` finds from then on; else a new one under `runs_root`."""
    if out:
        remember(Path(out), runs_root())
        return Path(out)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    base = runs_root() / f"{stamp}-{label}"
    return next(
        path
        for n in range(10_000)
        if not (path := base.with_name(base.name + (f".{n}" if n else ""))).exists()
    )


def list_runs() -> list[Path]:
    """Run folders under `runs_root`, and those that `--out` put elsewhere, oldest first."""
    root = runs_root()
    found = [path.parent for path in root.glob(f"*/{JOURNAL}")] if root.is_dir() else []
    others = [folder for folder in remembered(root) if (folder / JOURNAL).is_file()]
    return sorted(found + others, key=_started) if others else sorted(found)


def _started(folder: Path) -> tuple[float, Path]:
    """By its first fact; a journal that has none, or another form, counts as the oldest."""
    with suppress(OSError, ValueError, KeyError, TypeError), (folder / JOURNAL).open("rb") as journal:
        return float(loads(journal.readline())["wall"]), folder
    return 0.0, folder


def find_run(name: str) -> Path:
    """A run folder by path, by its name under `runs_root`, or `last`. Raises RunFolderError."""
    if name == "last":
        known = list_runs()
        if not known:
            raise RunFolderError(f"there is no run under {runs_root()} yet; start one with `replayer demo`")
        return known[-1]
    for path in (Path(name), runs_root() / name):
        if (path / JOURNAL).is_file():
            return path
    if Path(name).exists():
        raise RunFolderError(f"{name} is not a run folder: it has no {JOURNAL}")
    raise RunFolderError(f"run {name!r} does not exist; `replayer runs` lists what there is")


class JournalWriter:
    """Appends facts to one run folder; the only writer while it is open.

    `sync_every`: seconds after which what was written is forced to disk; 0 leaves it to the ends of sessions, of which
    all within `sync_apart` seconds share one sync.
    `run` is the run's folder where this is one part of its journal.
    Raises RunFolderError when the folder cannot be written, is locked by another process, or its disk is full.
    """

    def __init__(
        self,
        folder: Path,
        on_event: Callable[[AnyEvent], None] | None = None,
        sync_every: float = 0.0,
        sync_apart: float = SOONEST,
        *,
        run: Path | None = None,
    ) -> None:
        self.folder, self._run = folder, run or folder
        self._on_event = on_event
        self._lock = _lock(folder)
        path = folder / JOURNAL
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            self._size, self._lines = _drop_torn_tail(path, self._fd)
        except OSError as error:
            os.close(self._lock)
            raise RunFolderError(f"{path} cannot be written: {error.strerror}") from None
        self._syncing = Syncing(self._fd, sync_every, sync_apart)
        self._started = time.monotonic_ns()
        self._offset = 0

    def go_on_after(self, at: int) -> None:
        """Continue the clock of an earlier process whose last event was at `at`."""
        self._offset = at

    def now(self) -> int:
        """Nanoseconds since the run started, over all its processes."""
        return time.monotonic_ns() - self._started + self._offset

    def append(self, event: AnyEvent) -> None:
        if not event.at:
            event.__dict__["at"] = (
                self.now()
            )  # what `model_copy` does, without the copy: it is nobody else's yet
        self._write([encoded(event)])
        if event.type == "session_finished" or event.type == "run_finished":
            self._syncing.request()
        if self._on_event is not None:
            self._on_event(event)

    def append_encoded(self, events: Sequence[bytes]) -> None:
        """Whole sessions, which another process encoded without a time."""
        at = b'{"at":%d,' % self.now()
        self._write([at + event.removeprefix(_UNTIMED) for event in events])
        self._syncing.request()

    def _write(self, events: Sequence[bytes]) -> None:
        lines = b"".join(seal(number, event) for number, event in enumerate(events, self._lines + 1))
        try:
            written = os.write(self._fd, lines)
            if written != len(lines):
                written += os.write(self._fd, lines[written:])
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise RunFolderError(
                f"{self.folder / JOURNAL} cannot be written: {error.strerror}; "
                f"free some space, then `replayer resume {self._run}`"
            ) from None
        self._size += written
        self._lines += len(events)

    def close(self) -> None:
        self._syncing.close()
        os.close(self._fd)
        (self.folder / "lock").unlink(missing_ok=True)
        os.close(self._lock)


def create_folder(folder: Path) -> None:
    """Make a new run folder. Raises RunFolderError if it holds a run already or cannot be made."""
    if (folder / JOURNAL).exists():
        raise RunFolderError(
            f"{folder} holds a run already; choose another --out, or `--into {folder}` to add lanes to it"
        )
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        for part in ("traces", "engines", "live"):
            (folder / part).mkdir(0o700, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"run folder {folder} cannot be made: {error.strerror}") from None


def writer_pid(folder: Path) -> int | None:
    """The pid of the process that is writing this run now, if any."""
    try:
        fd = os.open(folder / "lock", os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return int(os.read(fd, 32) or b"0") or None
    else:
        return None
    finally:
        os.close(fd)


def _lock(folder: Path) -> int:
    try:
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RunFolderError(f"run folder {folder} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pid = os.read(fd, 32).decode() or "unknown"
        os.close(fd)
        raise RunFolderError(
            f"run {folder} is being written by process {pid}; wait for it, or `replayer stop {folder}`"
        ) from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, str(os.getpid()).encode(), 0)
    return fd


def _drop_torn_tail(path: Path, fd: int) -> tuple[int, int]:
    """Cut a last line that a killed process left without its end; the bytes and the lines that remain."""
    data = path.read_bytes() if path.stat().st_size else b""
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        os.ftruncate(fd, whole)
    return whole, data.count(b"\n")


def read(folder: Path) -> Iterator[AnyEvent]:
    """The events of a run, those of its shards included. A torn last line is left out. Raises RunFolderError."""
    for event, _ in Reading(folder).events():
        yield event


@dataclass(slots=True)
class Reading:
    """Reads the journals of a run as one, and goes on later where it stopped: what a screen needs to tail a run.

    Events come by time, then shard, then place in their journal. The times of a shard are set right by what its clock was
    ahead (`ShardClock`): those of its journal's clock, and the wall time of each request. Durations stay as they were taken.
    """

    folder: Path
    offsets: dict[int, int] = field(default_factory=dict)
    """By part the byte after what was read."""
    clocks: dict[int, ShardClock] = field(default_factory=dict)

    def events(self) -> Iterator[tuple[AnyEvent, Line]]:
        """What is new, with the place where each event's line starts. Raises RunFolderError."""
        streams = [self._part(part) for part in parts(self.folder)]
        merged = streams[0] if len(streams) == 1 else heapq.merge(*streams, key=itemgetter(0))
        for _, event, line, after in merged:
            self.offsets[line.part] = after
            yield event, line

    def replaced(self) -> bool:
        """A journal is shorter than what was read of it."""
        return any(journal_of(self.folder, part).stat().st_size < at for part, at in self.offsets.items())

    def _part(self, part: int) -> Iterator[tuple[int, AnyEvent, Line, int]]:
        """With the time to order by, which never goes back, and the byte after the line."""
        path, offset, at = journal_of(self.folder, part), self.offsets.get(part, 0), 0
        try:
            stream = path.open("rb")
        except OSError as error:
            raise RunFolderError(f"{path} cannot be read: {error.strerror}") from None
        order = Order(whole=not offset)
        with stream:
            stream.seek(offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                try:
                    order.check(line)
                    event = parsed(line, path)
                except Damage as damage:
                    raise damaged(path, offset, f"is damaged: {damage}") from None
                begins, offset = offset, offset + len(line)
                if event is not None:
                    event = self._in_run_time(event, part) if part else event
                    at = max(at, event.at)
                    yield at, event, Line(part, begins), offset

    def _in_run_time(self, event: AnyEvent, part: int) -> AnyEvent:
        if isinstance(event, ShardClock):
            self.clocks[part] = event
        clock = self.clocks.get(part)
        if clock is None:
            return event
        changed: dict[str, float] = {"at": event.at + clock.shift_ns}
        if isinstance(event, TurnStarted):
            changed["wall"] = event.wall - clock.ahead_ns / 1e9
        return event.model_copy(update=changed)


_MOST_RUNS = 500
"""Runs that are remembered, each a JSON array: the folder of runs in which the command was given, and its own."""


def _list_of_runs() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "replayer/runs.jsonl"


def remember(folder: Path, root: Path) -> None:
    """A run that `--out` put elsewhere; nothing where it lies under `root`: it is found there. The list is a help, never
    needed: where it cannot be written, such runs are found by their path only."""
    folder, root = folder.absolute(), root.absolute()
    if folder.parent == root:
        return
    line = orjson.dumps([str(root), str(folder)])
    with suppress(OSError, RuntimeError):
        path = _list_of_runs()
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines() if path.exists() else []
        kept = [*(one for one in lines if one != line), line][-_MOST_RUNS:]
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_bytes(b"\n".join(kept) + b"\n")
        draft.replace(path)


def remembered(root: Path) -> Iterator[Path]:
    """Folders of runs that were started beside `root`, the latest last; they may be gone since."""
    with suppress(OSError, RuntimeError):
        for line in _list_of_runs().read_bytes().splitlines():
            with suppress(ValueError, TypeError):
                where, folder = orjson.loads(line)
                if where == str(root.absolute()):
                    yield Path(folder)
