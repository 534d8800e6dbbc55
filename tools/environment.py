"""What a session needs installed: a Python and pinned packages, built once and bound read-only into sandboxes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from replayer.errors import MissingPartError, TraceError
from replayer.tools.sandbox.isolation import GUEST_ENVIRONMENT, cache_folder

PINNED = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?==[\w.+!-]+")
"""A trace may come from anybody: no options, no addresses, no paths."""
MINOR = re.compile(r"\d\.\d{1,2}")


@dataclass(frozen=True, slots=True)
class Environment:
    """A prepared virtual environment on this machine, seen in the sandbox as /opt/env."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """`python` is a minor version such as `3.11`, None for the system's; packages are pinned requirements."""

    name: str
    packages: tuple[str, ...] = ()
    python: str | None = None

    @classmethod
    def from_trace(cls, value: object, trace: Path) -> Wanted | None:
        """`{"name", "python", "packages"}` or a bare name, which asks for nothing but the system's Python.

        Raises TraceError for anything else, and for a package that is not pinned by `==`.
        """
        if value is None or isinstance(value, str):
            return None
        if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
            raise TraceError(f"{trace}: workspace.environment needs a name, python and packages")
        packages = tuple(str(one) for one in value.get("packages") or ())
        loose = [one for one in packages if not PINNED.fullmatch(one)]
        if loose:
            raise TraceError(f"{trace}: workspace.environment must pin {loose[0]!r} as NAME==VERSION")
        python = str(value["python"]) if value.get("python") else None
        if python and not MINOR.fullmatch(python):
            raise TraceError(
                f"{trace}: workspace.environment.python {python!r} is no Python version such as 3.11"
            )
        return cls(value["name"], packages, python)


def prepare(wanted: Wanted) -> Environment:
    """Build the environment, or take it from the cache. Raises MissingPartError with what pip says."""
    facts = json.dumps([wanted.packages, wanted.python, GUEST_ENVIRONMENT]).encode()
    folder = cache_folder() / f"environment-{hashlib.sha256(facts).hexdigest()[:16]}"
    if not folder.exists():
        python = base_python(wanted)
        with tempfile.TemporaryDirectory(dir=cache_folder(), prefix="making-") as scratch:
            made = Path(scratch) / "environment"
            build(wanted, python, made)
            with contextlib.suppress(OSError):
                made.rename(folder)
    return Environment(wanted.name, folder)


def base_python(wanted: Wanted) -> str:
    name = f"python{wanted.python}" if wanted.python else "python3"
    found = Path("/usr/bin", name)
    if not found.exists():
        raise MissingPartError(
            f"environment {wanted.name} needs /usr/bin/{name}; install it, or replay with recorded tools"
        )
    return str(found)


def build(wanted: Wanted, python: str, folder: Path) -> None:
    """A virtual environment whose scripts name it by its place in the sandbox."""
    call(wanted, [python, "-m", "venv", "--without-pip", "--symlinks", str(folder)])
    if wanted.packages:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(folder / "bin" / "python"),
            "--disable-pip-version-check",
        ]
        call(wanted, [*pip, "install", "--quiet", "--no-deps", "--only-binary", ":all:", *wanted.packages])
    for script in (folder / "bin").iterdir():
        if not script.is_symlink():
            relocate(script, str(folder))
    for part in (folder, *folder.rglob("*")):
        if not part.is_symlink():
            part.chmod(0o755 if part.is_dir() or part.stat().st_mode & 0o100 else 0o644)


def relocate(script: Path, folder: str) -> None:
    data = script.read_bytes()
    if data.startswith(b"#!"):
        script.write_bytes(data.replace(folder.encode(), GUEST_ENVIRONMENT.encode()))


def call(wanted: Wanted, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MissingPartError(
            f"environment {wanted.name} cannot be built: {said[-1] if said else command[0]}"
        )
