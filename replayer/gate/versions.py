"""Versions of a package from its registry, each in an environment of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from replayer.errors import MissingPartError, PlanError

_SPEC = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\w,-]+\])?)==(.+)\Z")


def parse(text: str, flag: str) -> tuple[str, str]:
    """`vllm==0.20.0` -> name and version. Raises PlanError."""
    found = _SPEC.match(text.strip())
    if found is None:
        raise PlanError(f"{flag} {text!r} is not PACKAGE==VERSION, for example vllm==0.20.0")
    return found[1], found[2]


def between(package: str, good: str, bad: str) -> list[str]:
    """All released versions from one to the other, in that order. Raises MissingPartError where the registry cannot say."""
    name = package.partition("[")[0]
    command = [sys.executable, "-m", "pip", "index", "versions", name, "--disable-pip-version-check"]
    asked = subprocess.run(command, capture_output=True, text=True)
    line = next((line for line in asked.stdout.splitlines() if line.startswith("Available versions:")), None)
    if line is None:
        why = (asked.stderr.strip().splitlines() or ["no answer"])[-1]
        raise MissingPartError(
            f"the versions of {package} are not known ({why}): list them with --versions A,B,C"
        )
    newest_first = [text.strip() for text in line.partition(":")[2].split(",")]
    return cut(newest_first[::-1], package, good, bad)


def cut(oldest_first: list[str], package: str, good: str, bad: str) -> list[str]:
    """From the good one to the bad one, which may be the older. Raises PlanError for one that was never released."""
    for version in (good, bad):
        if version not in oldest_first:
            known = ", ".join(oldest_first[-8:])
            raise PlanError(f"{package} has no version {version} (the last ones are {known})")
    first, last = oldest_first.index(good), oldest_first.index(bad)
    return oldest_first[first : last + 1] if first <= last else oldest_first[last : first + 1][::-1]


def environment(folder: Path, package: str, version: str) -> Path:
    """The `bin` folder of an environment that has it, made at first use. Raises MissingPartError where it cannot be had."""
    home = folder / re.sub(r"[^\w.-]", "_", f"{package}-{version}")
    done = home / "installed"
    if not done.exists():
        steps = [
            [sys.executable, "-m", "venv", str(home)],
            [str(home / "bin" / "python"), "-m", "pip", "install", "-q", f"{package}=={version}"],
        ]
        for step in steps:
            ran = subprocess.run(step, capture_output=True, text=True)
            if ran.returncode:
                why = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
                raise MissingPartError(f"{package}=={version} cannot be installed: {why}")
        done.touch()
    return home / "bin"
