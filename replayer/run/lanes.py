"""A lane at work: its engine instances, their clients, and what every request of the lane carries."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from replayer.engines.base import Engine, EngineFacts
from replayer.engines.detect import connect, facts_of
from replayer.engines.engine_spec import launch_options
from replayer.engines.sampling_fields import unknown_fields, wrong_types
from replayer.engines.starting import Starts
from replayer.errors import EngineUnavailable, PlanError
from replayer.lazy import dataclass
from replayer.plan.model import LanePlan, Plan
from replayer.run.presence import Presence
from replayer.text import similar
from replayer.wire.client import WireClient
from replayer.wire.limits import Timeouts
from replayer.wire.remote import Receiver
from replayer.wire.types import JsonObject, Request

if TYPE_CHECKING:
    from replayer.simulated import Launched

_FACTS_SECONDS = 60.0
"""Time in which a server must say what it is: a dozen pages at most."""


@dataclass(slots=True)
class Instance:
    """One server of a lane."""

    engine: Engine
    client: WireClient
    facts: EngineFacts
    launched: Launched | None = None
    sessions_in_flight: int = 0
    dead: bool = False
    """It was started by us, has ended by itself, and that has been said."""
    headers: dict[str, str] = field(default_factory=dict)
    """What the lane's plan adds to every request, values of the environment in place: never journalled."""
    presence: Presence = field(init=False)

    def __post_init__(self) -> None:
        self.presence = Presence(self.engine, self.launched)

    async def close(self) -> None:
        await self.client.aclose()
        await self.engine.aclose()
        if self.launched is not None:
            await self.launched.stop()

    def log(self, plan: LanePlan) -> Path | None:
        """The server's own log: of one that we started, else the one that `facts = { log = FILE }` names."""
        if self.launched is not None:
            return self.launched.log
        return Path(plan.facts["log"]) if plan.facts.get("log") else None


@dataclass(slots=True)
class Lane:
    """A lane whose engines answer. Sessions are pinned to an instance, so that prefix caches mean something."""

    plan: LanePlan
    instances: list[Instance]
    model: str
    warnings: list[str] = field(default_factory=list)
    warming: asyncio.Task[None] | None = None
    """The warm-up, where it goes on beside other lanes' sessions."""

    @property
    def out(self) -> str | None:
        """Why nothing can be sent on this lane any more."""
        reasons = [instance.presence.out for instance in self.instances]
        return next(iter(reasons), None) if all(reasons) else None

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def facts(self) -> EngineFacts:
        return self.instances[0].facts

    def pin(self) -> Instance:
        """The instance with the fewest sessions in flight, of those that are there."""
        there = [instance for instance in self.instances if instance.presence.out is None]
        return min(there or self.instances, key=lambda instance: instance.sessions_in_flight)

    def concurrency(self, plan: Plan) -> int:
        """Sessions in flight on this lane."""
        return self.plan.concurrency or plan.concurrency

    def settings(self) -> JsonObject:
        """What was asked of this lane, for the journal."""
        plan = self.plan
        return {
            "sampling": plan.sampling,
            "extra": plan.extra,
            "options": dict(sorted(plan.options.items(), key=lambda option: option[0] == "fault")),
            "facts": plan.facts,
            "stream": plan.stream,
            "max_tokens": plan.max_tokens,
            "concurrency": plan.concurrency,
            "on_collapse": plan.on_collapse,
            "exclusive": plan.exclusive,
            "urls": [instance.engine.base_url for instance in self.instances],
        }

    async def warm(self) -> None:
        """Until the warm-up is over."""
        if self.warming is not None:
            await asyncio.shield(self.warming)

    async def close(self) -> None:
        for instance in self.instances:
            await instance.close()


async def open_lane(
    plan: LanePlan,
    log_folder: Path,
    *,
    timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
    trace_paths: Sequence[Path] = (),
    receiver: Receiver | None = None,
    starts: Starts | None = None,
) -> Lane:
    """Launch what is to be launched, connect, and check model and sampling fields before anything is sent. `starts`
    lends one server to lanes that differ in their wire alone.

    Raises EngineUnavailable (unreachable, wrong key), MissingPartError (embedded engine not installed) and
    PlanError (unknown model or sampling field).
    """
    _check_secrets(plan)
    instances: list[Instance] = []
    try:
        for url, launched in await _servers(plan, log_folder, trace_paths, starts or Starts()):
            instances.append(await _open_instance(plan, url, launched, timeouts, receiver))
        lane = Lane(plan=plan, instances=instances, model=_model(plan, instances[0].facts))
        for instance in instances:
            instance.engine.model = lane.model
        _check_sampling(lane)
    except BaseException:
        for instance in instances:
            await instance.close()
        raise
    return lane


def _check_secrets(plan: LanePlan) -> None:
    if lost := plan.lost_secrets:
        raise PlanError(
            f"lane {plan.name!r}: the credential in its {' and '.join(lost)} was not written into the run folder; "
            f"give the lane again with --engine {plan.base or plan.name}=…, or a key with api_key_env=VARIABLE "
            "(in a command with env:VARIABLE)"
        )


async def _servers(
    plan: LanePlan, log_folder: Path, trace_paths: Sequence[Path], starts: Starts
) -> list[tuple[str, Launched | None]]:
    if plan.launch is None and not plan.command:
        return [(url, None) for url in plan.addresses]
    key = server_key(plan)
    order = plan.model_copy(update={"name": plan.base}) if key else plan
    launched = await starts.start(order, key, log_folder, trace_paths)
    return [(plan.addresses[0] if launched.base_url == plan.url else launched.base_url, launched)]


def server_key(plan: LanePlan) -> Hashable | None:
    """What the lanes have in common that differ in their wire alone; None for others."""
    if "wire" not in plan.setting:
        return None
    return plan.base, tuple((axis, str(value)) for axis, value in plan.setting.items() if axis != "wire")


async def _open_instance(
    plan: LanePlan, url: str, launched: Launched | None, timeouts: Timeouts, receiver: Receiver | None
) -> Instance:
    engine = None
    try:
        key, headers = api_key(plan), lane_headers(plan)
        async with asyncio.timeout(_FACTS_SECONDS) as limit:
            engine = await connect(
                url,
                kind=plan.kind,
                api_key=key,
                headers=fixed(headers),
                within=(timeouts.connect or inf) + (timeouts.first_byte or inf),
            )
            facts = await facts_of(engine)
        client = WireClient(
            engine.dial_url, api_key=key, classify=engine.fault, receiver=receiver, timeouts=timeouts
        )
    except TimeoutError:
        if not limit.expired():
            raise
        raise EngineUnavailable(f"{url} did not say what it is within {_FACTS_SECONDS:g} s") from None
    except BaseException:
        if engine is not None:
            await engine.aclose()
        if launched is not None:
            await launched.stop()
        raise
    return Instance(engine=engine, client=client, facts=facts, launched=launched, headers=headers)


def api_key(plan: LanePlan) -> str | None:
    """The key in the variable that the lane names. Raises PlanError where it is not set."""
    if plan.api_key_env is None:
        return None
    key = os.environ.get(plan.api_key_env)
    if not key:
        raise PlanError(
            f"lane {plan.name!r}: the variable {plan.api_key_env} named by api_key_env is not set"
        )
    return key


def _model(plan: LanePlan, facts: EngineFacts) -> str:
    if plan.model is None or plan.launch is not None:
        if facts.model is None:
            raise EngineUnavailable(f"{facts.base_url} lists no model; name one with model=…")
        return facts.model
    if facts.models and plan.model not in facts.models:
        near = similar(plan.model, facts.models, cutoff=0.3) or facts.models[0]
        raise PlanError(
            f"lane {plan.name!r}: {facts.base_url} does not list the model {plan.model!r}; the nearest is {near!r}"
        )
    return plan.model


def _check_sampling(lane: Lane) -> None:
    engine = lane.instances[0].engine
    if engine.sampling_fields is None:
        if lane.plan.sampling:
            names = ", ".join(sorted(lane.plan.sampling))
            lane.warnings.append(
                f"{lane.name}: this server does not say which fields it knows; sent unchecked: {names}"
            )
        return
    for name, nearest in unknown_fields(lane.plan.sampling, engine.sampling_fields):
        nearest = similar(name, launch_options(lane.plan.launch)) or nearest
        hint = f"; the nearest known one is {nearest!r}" if nearest else ""
        raise PlanError(
            f"lane {lane.name!r}: {engine.kind} has no sampling field {name!r}{hint} "
            f"(extra.{name}=… passes it anyway)"
        )
    for name, types in wrong_types(lane.plan.sampling, engine.sampling_fields):
        value = lane.plan.sampling[name]
        raise PlanError(f"lane {lane.name!r}: {name} must be {' or '.join(types)}, not {value!r}")


_WARM_TOKENS = 32


async def warm_up(instance: Instance, model: str) -> str | None:
    """Short streamed replies, so that what is compiled at first use does not count; the reason if one failed.

    The first decodes and repeats itself: with one token, or nothing to draft from, decoding and speculation stayed cold,
    and the first measured reply of SGLang's n-gram speculation took 91 s. Where an engine leaves cached tokens out when
    there are none, the same is asked again: only its first hit shows that its silence means 0.
    """
    problem = await _ask(instance, model, _WARM_TOKENS)
    if problem is None and instance.engine.silence_is_unclear:
        problem = await _ask(instance, model, 1)
    return problem


async def _ask(instance: Instance, model: str, tokens: int) -> str | None:
    words = "Go on counting in circles: " + "one two three four five " * 6
    messages = [{"role": "user", "content": words}]
    usage = {"include_usage": True}
    fields = {
        "model": model,
        "max_tokens": tokens,
        "stream": True,
        "stream_options": usage,
        "messages": messages,
    }
    reply = await instance.client.chat(Request(body=[orjson.dumps(fields)], stream=True))
    instance.engine.usage(reply.usage, reply.extra)
    return f"the warm-up request failed: {reply.fault.message}" if reply.fault else None


_FROM = "env:"
_SESSION = "{session}"


def lane_headers(plan: LanePlan) -> dict[str, str]:
    """The headers with the values of the environment in place. They stay in memory: the plan keeps the names.

    Raises PlanError where a variable is not set.
    """
    return {name: _value(plan, name, text) for name, text in plan.headers.items()}


def fixed(headers: Mapping[str, str]) -> dict[str, str]:
    """Those that are the same for every request: what probes and telemetry send too."""
    return {name: text for name, text in headers.items() if _SESSION not in text}


def for_session(headers: Mapping[str, str], session: str) -> dict[str, str]:
    return {name: text.replace(_SESSION, session) for name, text in headers.items()}


def _value(plan: LanePlan, name: str, text: str) -> str:
    if not text.startswith(_FROM):
        return text
    variable = text.removeprefix(_FROM)
    found = os.environ.get(variable)
    if not found:
        raise PlanError(f"lane {plan.name!r}: the variable {variable} of header {name} is not set")
    if any(sign in found for sign in "\r\n\0"):
        raise PlanError(f"lane {plan.name!r}: the variable {variable} of header {name} holds a line break")
    return found
