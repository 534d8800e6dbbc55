"""Fetching files over HTTPS: with progress, resumed after a cut, and refused where the bytes are not those promised."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx

from replayer.errors import MissingPartError, ReplayerError, TraceError
from replayer.text import Progress
from replayer.traces.public.workloads import Workload
from replayer.wire.dial import environment_proxy, read_url, tls_context
from replayer.wire.types import JsonObject

_CHUNK = 1 << 18
_ATTEMPTS = 5
_SECONDS = 60.0
_SHA256 = re.compile("[0-9a-f]{64}")


class Unreachable(ReplayerError):
    """The place of a workload could not be reached, or broke off again and again."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Remote:
    """One file: its path below the workload's folder, and what its bytes must be."""

    url: str
    path: str
    size: int | None = None
    sha256: str | None = None
    git_oid: str | None = None
    """Git's own SHA-1 of a small file, for which the hub states no SHA-256."""


def remotes(workload: Workload) -> list[Remote]:
    """The files of a workload; those of the hub are listed there. Raises Unreachable, TraceError."""
    if not workload.source.startswith("hf://"):
        name = Path(urlsplit(workload.source).path).name
        return [Remote(workload.source, name, workload.bytes, workload.sha256)]
    place, _, rest = workload.source.removeprefix("hf://").partition("@")
    revision, _, pattern = rest.partition("/")
    base = f"{_hub()}/datasets/{place}/resolve/{quote(revision, safe='')}"
    found = [entry for entry in _tree(place, revision) if _wanted(str(entry.get("path")), pattern)]
    if not found:
        raise TraceError(f"{workload.source}: the hub has no such file at this revision")
    return [_remote(base, entry) for entry in found]


def remotes_in(workload: Workload, folder: Path) -> list[Remote]:
    """The files of a workload that lie in a folder of a machine without a network. Raises TraceError."""
    if not workload.source.startswith("hf://"):
        return remotes(workload)
    pattern = workload.source.partition("@")[2].partition("/")[2]
    below = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    found = [path for path in below if _wanted(path, pattern) or fnmatch(path, Path(pattern).name)]
    if not found:
        raise TraceError(f"--from {folder}: holds no file {pattern or '*'}")
    return [Remote("", path) for path in found]


def fetch(remote: Remote, folder: Path, report: Progress, attempts: int = _ATTEMPTS) -> str:
    """Brings one file into a folder unless it is there; returns its SHA-256. Raises TraceError, Unreachable."""
    target = folder / remote.path
    if target.is_file() and target.stat().st_size == (remote.size or target.stat().st_size):
        return _checked(remote, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    with _client(remote.url) as client:
        for attempt in range(attempts):
            try:
                remote = _go_on(client, remote, partial, report)
                break
            except httpx.HTTPStatusError as error:
                raise Unreachable(f"{remote.url}: the server answered {error.response.status_code}") from None
            except (httpx.TransportError, httpx.StreamError) as error:
                if attempt + 1 == attempts:
                    here = partial.stat().st_size if partial.exists() else 0
                    raise Unreachable(
                        f"{remote.url}: broke off after {here:,} bytes ({error}); the same command goes on from there"
                    ) from None
    digest = _checked(remote, partial)
    partial.replace(target)
    return digest


def fetch_model(url: str, target: Path, report: Progress) -> None:
    """One file of the hub, whose hash it states as it answers. Raises MissingPartError."""
    try:
        fetch(Remote(url, target.name), target.parent, report, attempts=1)
    except Unreachable as error:
        words = (
            f"the model hub could not be read ({error}); run the same command again to go on where it stopped"
        )
        raise MissingPartError(words) from None
    except TraceError as error:
        raise MissingPartError(f"{url} arrived damaged ({error}); run the command again") from None


def take(remote: Remote, source: Path, folder: Path) -> str:
    """As `fetch`, from a folder of files instead of the network."""
    found = next((p for p in (source / remote.path, source / Path(remote.path).name) if p.is_file()), None)
    if found is None:
        raise TraceError(f"--from {source}: holds no {Path(remote.path).name}")
    digest = _checked(remote, found, keep=True)
    target = folder / remote.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(found.resolve(), target)
    except OSError:
        target.write_bytes(found.read_bytes())
    return digest


def _go_on(client: httpx.Client, remote: Remote, partial: Path, report: Progress) -> Remote:
    """Fetches what a partial file lacks; all of it where the server's file is another by now. With the hash that a hub
    states as it answers, where none was known."""
    start = partial.stat().st_size if partial.exists() else 0
    if remote.size is not None and start == remote.size:
        return remote
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with client.stream("GET", remote.url, headers=headers) as answer:
        if answer.status_code == 416:
            partial.unlink()
            raise httpx.ReadError("the server has fewer bytes than were fetched")
        answer.raise_for_status()
        resumed = answer.status_code == 206
        length = answer.headers.get("content-length", "")
        total = remote.size or (int(length) + (start if resumed else 0) if length.isdigit() else None)
        done = start if resumed else 0
        with partial.open("ab" if resumed else "wb") as file:
            for chunk in answer.iter_raw():
                file.write(chunk)
                done += len(chunk)
                report(Path(remote.path).name, done, total)
        stated = (str(one.headers.get("x-linked-etag", "")).strip('"') for one in (answer, *answer.history))
        return replace(remote, sha256=remote.sha256 or next(filter(_SHA256.fullmatch, stated), None))


def _checked(remote: Remote, path: Path, keep: bool = False) -> str:
    """The SHA-256 of a file. Raises TraceError where its bytes are others than promised; then it is removed."""
    size = path.stat().st_size
    sha256, git = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha256.update(chunk)
            git.update(chunk)
    found = sha256.hexdigest()
    wanted = remote.sha256 or remote.git_oid
    if wanted is not None and wanted != (found if remote.sha256 else git.hexdigest()):
        if not keep:
            path.unlink()
        what = found if remote.sha256 else git.hexdigest()
        raise TraceError(f"{remote.path}: refused, its hash is {what} where {wanted} is expected")
    return found


def _hub() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _client(url: str) -> httpx.Client:
    origin, _ = read_url(url)
    token = os.environ.get("HF_TOKEN") if url.startswith(_hub()) else None
    return httpx.Client(
        proxy=environment_proxy(origin),
        verify=tls_context(True) if origin.scheme == "https" else False,
        trust_env=False,
        follow_redirects=True,
        timeout=_SECONDS,
        headers={"Authorization": f"Bearer {token}"} if token else {},
    )


def _tree(place: str, revision: str) -> list[JsonObject]:
    """Every file of a data set at a revision, page by page."""
    url: str | None = f"{_hub()}/api/datasets/{place}/tree/{quote(revision, safe='')}?recursive=true"
    found: list[JsonObject] = []
    with _client(_hub()) as client:
        while url is not None:
            try:
                answer = client.get(url)
                answer.raise_for_status()
                found += [entry for entry in answer.json() if entry.get("type") == "file"]
            except httpx.HTTPStatusError as error:
                code = error.response.status_code
                hint = "; a gated set needs HF_TOKEN" if code in (401, 403) else ""
                raise Unreachable(f"{place}@{revision}: the hub answers with status {code}{hint}") from None
            except (httpx.HTTPError, ValueError, AttributeError) as error:
                raise Unreachable(f"{_hub()}: cannot be reached ({error})") from None
            url = answer.links.get("next", {}).get("url")
    return found


def _wanted(path: str, pattern: str) -> bool:
    return fnmatch(path, pattern) or not pattern or path.startswith(pattern.rstrip("/") + "/")


def _remote(base: str, entry: JsonObject) -> Remote:
    path, lfs = str(entry["path"]), entry.get("lfs") or {}
    if ".." in Path(path).parts or path.startswith("/"):
        raise TraceError(f"the hub names a file outside of the set: {path!r}")
    sha256 = lfs.get("oid")
    git_oid = None if sha256 else entry.get("oid")
    return Remote(f"{base}/{quote(path)}", path, lfs.get("size", entry.get("size")), sha256, git_oid)
