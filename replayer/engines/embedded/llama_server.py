"""The embedded engine: llama.cpp in a process of its own, with a small model, nothing to install or to serve."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import tempfile
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from replayer.engines.embedded import weights
from replayer.errors import EngineUnavailable, MissingPartError, PlanError
from replayer.simulated.process import Launched, end_child, start_child
from replayer.text import Progress, nearest
from replayer.wire.types import JsonObject

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
CALM = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
"""Threads that spin while they wait would take the core from the other lane."""


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
"""The names of the options, which an engine SPEC separates from sampling fields."""


async def launch(options: JsonObject, progress: Progress | None = None) -> Launched:
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
    log.touch(0o600)
    log.write_bytes(b"")  # an earlier start's errors are not this one's
    try:
        settings = json.dumps(_settings(chosen, model, scratch.name))
        process, url = await start_child("replayer.engines.embedded.child", settings, log, CALM)
        if not url.startswith("http"):
            await end_child(process)
            raise EngineUnavailable(f"the embedded engine did not start with {model}: {_last_words(log)}")
    except BaseException:
        scratch.cleanup()
        raise

    async def stop() -> None:
        await end_child(process)
        scratch.cleanup()

    return Launched(url.rstrip("/") + "/v1", process.pid, log, process, stop)


def parse_options(options: JsonObject) -> Options:
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


def _settings(chosen: Options, model: Path, scratch: str) -> JsonObject:
    return {
        **chosen.model_dump(exclude={"log"}),
        "model": str(model),
        "alias": model.stem,
        "chat_template": chat_template(chosen.chat_template),
        "slot_folder": f"{scratch}/",
    }


def _last_words(log: Path, lines: int = 5) -> str:
    said = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in said if " E " in line]
    return " | ".join(errors[:2] or said[-lines:]) or "it said nothing"
