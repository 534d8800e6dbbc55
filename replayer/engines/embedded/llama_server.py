"""The embedded engine: llama.cpp in a process of its own, with a small model, nothing to install or to serve."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replayer.engines.embedded import weights
from replayer.errors import EngineUnavailable, MissingPartError, PlanError
from replayer.text import nearest

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
START_SECONDS = 120


class Options(BaseModel):
    """What a lane `NAME=embedded,…` can vary of the server; sampling fields go in the requests instead."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    """None (SmolLM2-135M-Instruct), a path to a GGUF file, or `hf:OWNER/REPO/FILE.gguf`."""
    ctx: int = Field(default=8192, ge=256)
    """Tokens of context per slot."""
    parallel: int = Field(default=1, ge=1, le=64)
    """Slots: requests served at the same time."""
    threads: int = Field(default=1, ge=1)
    """One by default: lanes that together spin more threads than there are cores fall under 1 token/s."""
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    speculative: Literal[
        "none", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"
    ] = "none"
    chat_template: str = "tools"
    """`tools` (ours, which renders tools), `model` (the one in the GGUF), or a path to a Jinja file."""
    log: Path | None = None


OPTIONS = frozenset(Options.model_fields)
"""The names of the options, so that an engine SPEC can tell them from sampling fields."""


@dataclass(kw_only=True)
class EmbeddedServer:
    """A running embedded engine (see `Launched`). It ends with `stop`, or with the process that started it."""

    base_url: str
    pid: int
    log: Path | None
    process: asyncio.subprocess.Process
    scratch: tempfile.TemporaryDirectory[str]

    async def stop(self) -> None:
        await _end(self.process)
        self.scratch.cleanup()


async def launch(options: dict[str, Any], progress: weights.Progress | None = None) -> EmbeddedServer:
    """Start llama.cpp and wait until it answers.

    Raises PlanError for an option that makes no sense, MissingPartError where xllamacpp or the model is not to be
    had, and EngineUnavailable, with the log's last lines, where the server ends before it is ready.
    """
    chosen = parse_options(options)
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingPartError(
            "the embedded engine needs llama.cpp: run `pip install 'agent-replayer[embedded]'`"
        )
    model = await asyncio.to_thread(weights.resolve, chosen.model, progress)
    scratch = tempfile.TemporaryDirectory(prefix="replayer-embedded-")
    log = chosen.log or Path(scratch.name, "server.log")
    process = await _spawn(log)
    try:
        url = await _ready(process, _settings(chosen, model, scratch.name), log)
    except BaseException:
        await _end(process)
        scratch.cleanup()
        raise
    return EmbeddedServer(base_url=f"{url}/v1", pid=process.pid, log=log, process=process, scratch=scratch)


def parse_options(options: dict[str, Any]) -> Options:
    try:
        return Options(**options)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
    if name not in OPTIONS:
        raise PlanError(f"the embedded engine has no option {name}{nearest(name, OPTIONS)}")
    raise PlanError(f"option {name} of the embedded engine: {first['msg']}, not {first['input']!r}")


def chat_template(choice: str) -> str | None:
    """The Jinja text for a `chat_template` option; None leaves the model's own in force."""
    if choice == "model":
        return None
    if choice == "tools":
        return resources.files("replayer.engines.embedded").joinpath("tools.jinja").read_text("utf-8")
    try:
        return Path(choice).expanduser().read_text("utf-8")
    except OSError as error:
        raise PlanError(
            f"chat_template={choice}: {error.strerror}; give a Jinja file, tools or model"
        ) from error


def _settings(chosen: Options, model: Path, scratch: str) -> dict[str, Any]:
    return {
        **chosen.model_dump(exclude={"log"}),
        "model": str(model),
        "alias": model.stem,
        "chat_template": chat_template(chosen.chat_template),
        "slot_folder": f"{scratch}/",
    }


async def _spawn(log: Path) -> asyncio.subprocess.Process:
    # Threads that spin while they wait would take the core from the other lane.
    calm = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
    with log.open("wb") as err:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "replayer.engines.embedded.child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=err,
            env={**os.environ, **calm},
            start_new_session=True,  # Ctrl-C is for the runner, which then stops its engines
        )


async def _ready(process: asyncio.subprocess.Process, settings: dict[str, Any], log: Path) -> str:
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
    except TimeoutError:
        line = b""
    if line.startswith(b"http"):
        return line.decode().strip().rstrip("/")
    raise EngineUnavailable(f"the embedded engine did not start with {settings['model']}: {_last_words(log)}")


def _last_words(log: Path, lines: int = 5) -> str:
    said = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in said if " E " in line]
    return " | ".join(errors[:2] or said[-lines:]) or "it said nothing"


async def _end(process: asyncio.subprocess.Process, patience: float = 5) -> None:
    """Close its stdin, which ends it; kill it where that does not help."""
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), patience)
    except TimeoutError:
        process.kill()
        await process.wait()
