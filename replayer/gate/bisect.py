"""Since which version, or value of a flag, is a command red? Halves the span, remembers what it tried, skips what does not
start. Versions of a package come from its registry, each in an environment of its own."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson
from pydantic import BaseModel, ValidationError

from replayer.errors import MissingPartError, PlanError

Answer = Literal["good", "bad", "skipped"]


class State(BaseModel):
    """What was tried. The first value is good and the last is bad: that is what the user came with."""

    values: list[str]
    command: str
    """A digest: its words may hold a key."""
    answers: dict[str, Answer] = {}
    why: dict[str, str] = {}
    """Why a value was skipped."""


@dataclass(frozen=True, slots=True)
class Found:
    """`first_bad` is known where it stands alone; else it is one of `candidates`, the others of which never started."""

    first_bad: str | None
    candidates: list[str]
    last_good: str


def opened(path: Path, values: Sequence[str], command: Sequence[str]) -> State:
    """The state of an interrupted search, or a new one. Raises PlanError where the file is of another search."""
    if not path.exists():
        return State(values=list(values), command=_digest(command))
    try:
        state = State.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise PlanError(
            f"{path} is not a state of a bisection ({str(error).splitlines()[0]}): delete it"
        ) from None
    if state.values != list(values) or state.command != _digest(command):
        raise PlanError(
            f"{path} is of another bisection: name another file with --state, or delete it to start anew"
        )
    return state


def _digest(command: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(command).encode("utf-8", "surrogateescape")).hexdigest()


def saved(path: Path, state: State) -> None:
    """Whole or not at all: a search is killed between any two steps."""
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(orjson.dumps(state.model_dump(), option=orjson.OPT_INDENT_2))
        os.replace(new, path)
    except OSError as error:
        raise PlanError(f"--state {path} cannot be written: {error.strerror}") from None


def span(state: State) -> tuple[int, int]:
    """Places of the last good and the first bad value so far."""
    bad = [at for at, value in enumerate(state.values) if state.answers.get(value) == "bad"]
    high = min(bad, default=len(state.values) - 1)
    good = [at for at, value in enumerate(state.values) if state.answers.get(value) == "good" and at < high]
    return max(good, default=0), high


def following(state: State) -> str | None:
    """The untried value nearest to the middle; None when the search is over."""
    low, high = span(state)
    open_places = [at for at in range(low + 1, high) if state.values[at] not in state.answers]
    middle = (low + high) / 2
    return state.values[min(open_places, key=lambda at: abs(at - middle))] if open_places else None


def narrowed(state: State, path: Path, attempt: Callable[[str], tuple[Answer, str]]) -> Found:
    """Try until nothing is left to try. `attempt` answers for one value, with the reason where it is skipped."""
    while (value := following(state)) is not None:
        answer, why = attempt(value)
        state.answers[value] = answer
        if why:
            state.why[value] = why
        saved(path, state)
    low, high = span(state)
    candidates = state.values[low + 1 : high + 1]
    return Found(candidates[0] if len(candidates) == 1 else None, candidates, state.values[low])


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
