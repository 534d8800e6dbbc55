"""Foreign recordings into native traces: finds the format, writes each session, counts what came out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from replayer import __version__
from replayer.errors import TraceError
from replayer.text import nearest
from replayer.traces.compact import uncollected
from replayer.traces.importers import importers
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.claude_files import comes_with_session
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import TOO_DEEP
from replayer.traces.public.workloads import provenance
from replayer.traces.reader import Trace, records
from replayer.traces.schema import Header, Source
from replayer.traces.storage import writing
from replayer.traces.summary import Summary, summarise, summary_of
from replayer.traces.writer import TraceWriter

_ODD_FORM = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
"""What reading foreign JSON of an unknown form can raise. Sources are files that anyone may have damaged: an importer
that stumbles over one must not end in a traceback."""

_OF_FOLDERS = frozenset({"openhands-v0", "openhands-v1"})
"""Formats that write one session as a folder of events; files of every other stand for themselves."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def convert(
    path: Path, out: Path, format_name: str | None = None, pick: Sequence[str] = ()
) -> Iterator[Summary | TraceError]:
    """Writes one native trace per session into the folder `out` and yields what each holds.

    A session that cannot be read is yielded as its error; the others are still imported. `pick` chooses sessions by
    title or id. Raises TraceError: unknown format, nothing readable, nothing picked.
    """
    with closing(Probe(path)) as probe:
        importer = find_importer(probe, format_name)
        with uncollected():
            chosen = [session for session in _sessions(importer, probe) if _picked(session, pick)]
        if not chosen and pick:
            raise TraceError(
                f"{path}: no session has the id or title {', '.join(map(repr, pick))}; --list shows what there is"
            )
        if not chosen:
            raise TraceError(f"{path}: holds no session{f' ({probe.warnings[0]})' if probe.warnings else ''}")
        digest = _digest(probe)
        names = _names(path, chosen)
        for session, name in zip(chosen, names, strict=True):
            try:
                yield _write(importer, probe, session, _target(out, name, digest), digest)
            except TraceError as error:
                yield error


def settled(summary: Summary, out: Path) -> Summary:
    """A trace that was written elsewhere takes its place in `out`, as if it had been written there."""
    source = Path(summary.trace)
    target = _target(out, source.name.removesuffix(".trace.jsonl"), _source_of(source))
    source.replace(target)
    return replace(summary, trace=str(target))


def list_sessions(path: Path, format_name: str | None = None) -> list[Session]:
    """The sessions of an input without importing them."""
    with closing(Probe(path)) as probe:
        return list(_sessions(find_importer(probe, format_name), probe))


def is_known(path: Path) -> bool:
    """Whether a file has a format that replayer knows."""
    with suppress(TraceError), closing(Probe(path)) as probe:
        find_importer(probe)
        return True
    return False


def recordings_in(folder: Path) -> Iterator[Path]:
    """Everything in a folder that may be a recording: files, and folders that are one session (an event a file).

    Transcripts of Claude Code's subagents come with the session that started them, where that is there.
    """
    if is_known(folder):
        yield folder
        return
    entries = sorted(folder.iterdir())
    for entry in entries:
        if entry.is_dir():
            if not entry.is_symlink():
                yield from recordings_in(entry)
        elif entry.is_file() and not comes_with_session(entry):
            yield entry


def find_importer(probe: Probe, format_name: str | None = None) -> Importer:
    """The importer whose format the input has, by content. Raises TraceError."""
    if format_name is not None:
        known = sorted({importer.format for importer in importers()})
        if format_name not in known:
            raise TraceError(f"unknown format {format_name!r}{nearest(format_name, known)}")
    for importer in importers():
        if probe.shape == "folder" and importer.format not in _OF_FOLDERS:
            continue
        if format_name in (None, importer.format) and _matches(importer, probe):
            return importer
    what = f"is not of the format {format_name!r}" if format_name else "is of no format that replayer knows"
    if probe.warnings:
        what = f"{probe.warnings[0].partition(';')[0]}, and what is left {what}"
    raise TraceError(f"{probe.path}: {what}; see `replayer import --formats`")


def _matches(importer: Importer, probe: Probe) -> bool:
    with suppress(*_ODD_FORM):
        return importer.matches(probe)
    return False


def _sessions(importer: Importer, probe: Probe) -> Iterator[Session]:
    try:
        yield from importer.sessions(probe)
    except _ODD_FORM as error:
        raise _broken(importer, probe, error) from error


def _write(importer: Importer, probe: Probe, session: Session, target: Path, digest: str | None) -> Summary:
    header = Header(
        trace_id=target.name.removesuffix(".trace.jsonl"),
        source=Source(format=importer.format, sha256=digest, importer=f"replayer {__version__}"),
        fidelity=importer.fidelity,
        title=session.title,
    )
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    with TraceWriter(target, header) as writer:
        builder = Builder(writer)
        try:
            with uncollected():
                session.write(builder)
        except _ODD_FORM as error:
            raise _broken(importer, probe, error) from error
        warnings = _warnings(importer, probe, builder)
        if importer.format != "replayer":
            known = {"warnings": warnings, "workload": provenance(probe.path)}
            meta = {**writer.header.meta, **{key: value for key, value in known.items() if value}}
            writer.header = replace(writer.header, meta=meta)
    if importer.format == "replayer":
        with Trace.open(target) as trace:
            return summarise(trace, str(probe.path), tuple(warnings))
    return summary_of(writer.header, target, builder.tally, str(probe.path), tuple(warnings))


def _warnings(importer: Importer, probe: Probe, builder: Builder) -> list[str]:
    found = [*probe.warnings, *builder.warnings]
    if importer.experimental:
        found.insert(0, f"the importer for {importer.format} is experimental")
    if builder.tally.turns == 0 and importer.format != "replayer":
        found.append("the session holds no LLM call")
    return found


def _broken(importer: Importer, probe: Probe, error: Exception) -> TraceError:
    if "ecursion" in str(error):
        return TraceError(
            f"{probe.path}: holds a value that is {TOO_DEEP} to be imported as {importer.format}"
        )
    return TraceError(
        f"{probe.path}: looks like {importer.format}, but has a form that replayer does not know "
        f"({type(error).__name__}: {str(error)[:120]})".replace("\n", " ")
    )


def _picked(session: Session, pick: Sequence[str]) -> bool:
    if not pick:
        return True
    title = (session.title or "").casefold()
    return any(
        p in (session.key, session.name) or p.casefold() == title or session.key.startswith(p) for p in pick
    )


def _target(out: Path, name: str, digest: str | None) -> Path:
    """A file that is new, or holds an earlier import of the same source; another source's is never overwritten."""
    for number in range(1, 10_000):
        target = out / f"{name}{f'-{number}' if number > 1 else ''}.trace.jsonl"
        if not target.exists() or (digest is not None and _source_of(target) == digest):
            return target
    raise TraceError(f"{out}: too many traces are called {name}")


def _source_of(path: Path) -> str | None:
    with suppress(TraceError):
        header = next(records(path)).record
        return header.source.sha256 if isinstance(header, Header) else None
    return None


def _names(path: Path, sessions: Sequence[Session]) -> list[str]:
    """File names without suffix, all different."""
    stem = _slug(path.name.split(".")[0] or path.name) or "session"
    counts: dict[str, int] = {}
    names: dict[str, None] = {}
    for session in sessions:
        part = _slug(session.name)
        base = name = f"{stem}-{part}" if part and (len(sessions) > 1 or session.key) else stem
        while name in names:
            counts[base] = counts.get(base, 1) + 1
            name = f"{base}-{counts[base]}"
        names[name] = None
    return list(names)


def _slug(text: str) -> str:
    return _UNSAFE.sub("-", text).strip("-.")[:60]


def _digest(probe: Probe) -> str | None:
    if probe.shape == "folder":
        return None
    if not probe.path.is_file():
        return hashlib.file_digest(probe.file, "sha256").hexdigest()  # type: ignore[arg-type]
    with probe.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
