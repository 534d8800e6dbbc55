"""The run folder: copies of the traces, and `journal.jsonl` (the plan in its first line), the only truth about a run.

RUN/plan.json       the resolved plan
RUN/journal.jsonl   one fact per line, append-only
RUN/traces/         a copy of each trace
RUN/engines/        logs of the engines that the run started
RUN/live/           text now streaming, for screens only
RUN/lock            held by the one writer; its pid

Every line of the journal is sealed (see `seal`), and forced to disk at the end of each session and every few seconds.
All of it is for its owner alone (0700, files 0600): prompts and replies are nobody else's business.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import orjson
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from replayer.errors import RunFolderError
from replayer.journal.elsewhere import remember, remembered
from replayer.journal.events import (
    EVENT,
    JOURNAL_SCHEMA,
    AnyEvent,
    Event,
    RunFinished,
    RunResumed,
    RunStarted,
    SessionFinished,
)
from replayer.journal.older import loads
from replayer.journal.seal import Damage, Order, seal
from replayer.journal.syncing import SOONEST, Syncing

JOURNAL = "journal.jsonl"


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
    Raises RunFolderError when the folder cannot be written, is locked by another process, or its disk is full.
    """

    def __init__(
        self,
        folder: Path,
        on_event: Callable[[AnyEvent], None] | None = None,
        sync_every: float = 0.0,
        sync_apart: float = SOONEST,
    ) -> None:
        self.folder = folder
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
        self._write(seal(self._lines + 1, encoded(event)))
        if isinstance(event, (SessionFinished, RunFinished)):
            self._syncing.request()
        if self._on_event is not None:
            self._on_event(event)

    def _write(self, line: bytes) -> None:
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                written += os.write(self._fd, line[written:])
        except OSError as error:
            os.ftruncate(self._fd, self._size)
            raise RunFolderError(
                f"{self.folder / JOURNAL} cannot be written: {error.strerror}; "
                f"free some space, then `replayer resume {self.folder}`"
            ) from None
        self._size += written
        self._lines += 1

    def close(self) -> None:
        self._syncing.close()
        os.close(self._fd)
        (self.folder / "lock").unlink(missing_ok=True)
        os.close(self._lock)


def encoded(event: AnyEvent) -> bytes:
    """An event as JSON. A lone surrogate in a reply becomes U+FFFD, the only form UTF-8 allows."""
    try:
        return event.model_dump_json().encode()
    except PydanticSerializationError:
        return orjson.dumps(_without_surrogates(event.model_dump()))


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="surrogatepass").decode(errors="replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value


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


def read(folder: Path, offset: int = 0) -> Iterator[AnyEvent]:
    """The events of a run from byte `offset` on. A torn last line is left out. Raises RunFolderError."""
    for event, _ in read_from(folder, offset):
        yield event


def read_from(folder: Path, offset: int = 0) -> Iterator[tuple[AnyEvent, int]]:
    """As `read`, each event with the byte offset that follows it: what a screen needs to tail a run."""
    path = folder / JOURNAL
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
            offset += len(line)
            if event is not None:
                yield event, offset


def damaged(path: Path, offset: int, how: str) -> RunFolderError:
    """For the line that starts at byte `offset`."""
    with path.open("rb") as stream:
        number = 1 + stream.read(offset).count(b"\n")
        kind = kind_of(stream.readline())
    return RunFolderError(
        f"{path}, line {number}: a {kind} {how}; `replayer report --salvage` reads what is sound"
    )


def kind_of(line: bytes) -> str:
    """What a damaged line seems to have been."""
    found = next((kind for kind in sorted(KNOWN_TYPES) if f'"{kind}"'.encode() in line), None)
    return f"{found!r} event" if found else "line"


def parsed(line: bytes, path: Path) -> AnyEvent | None:
    """The event of a whole line, None for a type of a later version.

    Raises Damage for what is not an event, RunFolderError for a journal of a later schema.
    """
    try:
        event = EVENT.validate_json(line)
    except ValidationError:
        return _older_or_unknown(line, path)
    if isinstance(event, RunStarted):
        _check_schema(event.schema_number, path)
    if isinstance(event, RunStarted | RunResumed) and not event.turns:
        return EVENT.validate_python(loads(line))  # its turns have another name in schema 1
    return event


def _check_schema(number: object, path: Path) -> None:
    if isinstance(number, int) and number > JOURNAL_SCHEMA:
        raise RunFolderError(f"{path} has journal schema {number}, this is {JOURNAL_SCHEMA}: update replayer")


def _older_or_unknown(line: bytes, path: Path) -> AnyEvent | None:
    """Migrate a line of an older journal; skip event types that this version does not know."""
    try:
        values = loads(line)
        kind = values["type"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise Damage("not a journal line") from None
    if kind == "run_started":
        _check_schema(values.get("schema_number"), path)
    if str(kind) in KNOWN_TYPES:
        with suppress(ValidationError):
            return EVENT.validate_python(values)
        raise Damage("its values are not those of such an event")
    return None


KNOWN_TYPES = frozenset(
    model.model_fields["type"].default
    for model in Event.__subclasses__()
    + [sub for cls in Event.__subclasses__() for sub in cls.__subclasses__()]
    if "type" in model.model_fields
)
