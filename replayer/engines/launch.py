"""A served model that replayer starts itself (embedded, simulated) instead of meeting it at a URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from replayer.errors import PlanError


class Launched(Protocol):
    """A running server of ours. `base_url` ends in `/v1`; `log` is its log file, where it writes one."""

    base_url: str
    pid: int
    log: Path | None

    async def stop(self) -> None: ...


class LaunchPlan(Protocol):
    """What `launch` reads of a lane's plan."""

    @property
    def name(self) -> str: ...
    @property
    def launch(self) -> str | None: ...
    @property
    def kind(self) -> str | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def options(self) -> Mapping[str, Any]: ...


async def launch(plan: LaunchPlan, log_folder: Path, trace_paths: Sequence[Path] = ()) -> Launched:
    """Start a lane's own engine and wait until it answers; its log goes to `log_folder`.

    Raises PlanError, MissingPartError or EngineUnavailable. A simulated engine plays `trace_paths` unless its
    options name others.
    """
    log_folder.mkdir(parents=True, exist_ok=True)
    log = log_folder / f"{plan.name}.log"
    if plan.launch == "simulated":
        return await _simulated(plan, log, trace_paths)
    if plan.launch == "embedded":
        from replayer.engines import embedded

        model = {"model": plan.model} if plan.model else {}
        return await embedded.launch({"log": log, **model, **plan.options})
    raise PlanError(f"lane {plan.name!r}: nothing to launch")


async def _simulated(plan: LaunchPlan, log: Path, trace_paths: Sequence[Path]) -> Launched:
    from replayer.engines import simulated

    given = {"kind": plan.kind, "model": plan.model}
    options: dict[str, Any] = {"trace": [str(path) for path in trace_paths]}
    options |= {key: value for key, value in given.items() if value is not None} | dict(plan.options)
    return await simulated.launch(simulated.SimulatedSpec.from_options(options), log)
