"""What runs at the same time where: which lanes a cluster has room for, which shard drives which sessions of a phase."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from replayer.engines.openai.adapter import OpenAIEngine
from replayer.errors import PlanError
from replayer.plan.model import LanePlan, Plan
from replayer.plan.schedule import Session, Share, shards
from replayer.run.lanes import server_key
from replayer.run.shards.launching import Resources
from replayer.run.shards.messages import FittedPrompt, OpenInstance, OpenLane, Phase
from replayer.run.state import Run

if TYPE_CHECKING:
    from replayer.engines.base import Engine, EngineFacts
    from replayer.run.lanes import Lane


_ALIVE_EACH = 32
"""Sessions in flight from which on `auto` takes another process."""
_CORES_EACH = 2
"""One judges, one receives."""
_KEPT = 4
"""Of a list of sessions every so manyth waits, the last ones, until a shard has a free place: sessions are not equally long and
cores not equally quick, and as many are to be in flight as were asked for until none is left."""


def processes_of(plan: Plan, todo: Sequence[Session], asked: str) -> int | None:
    """How many shards; None where one process is enough. Raises PlanError."""
    if plan.order == "interleaved":
        raise PlanError(
            'order = "interleaved" runs one session at a time: omit --processes, or give another order'
        )
    alive = [places_of(plan, lane) for lane in {session.lane for session in todo}]
    most = max((one for one in alive if one is not None), default=None if alive else 1)
    if asked == "auto":
        wanted = min((os.cpu_count() or 1) // _CORES_EACH, -(-sum(one or 0 for one in alive) // _ALIVE_EACH))
        return None if wanted <= 1 else wanted
    return min(int(asked), most or int(asked))


def places_of(plan: Plan, name: str) -> int | None:
    """Sessions in flight on a lane; None where as many are as arrive."""
    lane = next(lane for lane in plan.lane if lane.name == name)
    return plan.alive(lane) if plan.load.asked else lane.concurrency or plan.concurrency


def dealt(
    run: Run, phase: list[list[Session]], n: int, beside: Mapping[str, Sequence[int]]
) -> tuple[list[Phase], list[Session]]:
    """The phase for each of `n` shards, and the sessions that are kept for those that are done first. `beside`: those that
    drive a lane, where not all may. A load is kept up by all that have a place in it, each with every session to choose
    from; a list of sessions is dealt out, save its last part."""
    lanes: list[dict[str, OpenLane]] = [{} for _ in range(n)]
    given: list[list[Session]] = [[] for _ in range(n)]
    names = [queue[0].lane for queue in phase]
    kept: list[Session] = []
    for queue in phase:
        places = places_of(run.plan, queue[0].lane)
        able = beside.get(queue[0].lane) or range(n)
        of = min(len(able), places or n)
        ahead = len(queue) - _kept(len(queue), places) if of > 1 and not run.plan.load.asked else len(queue)
        kept += queue[ahead:]
        parts = [queue] * of if run.plan.load.asked else shards(queue[:ahead], of)
        for number in range(n):
            share = Share(able.index(number), of) if number in able[:of] else None
            mine = places and (share.part(places) if share else None)
            lane = run.lanes[queue[0].lane]
            lanes[number][lane.name] = _described(lane, mine, (share.number, of) if share else None)
            given[number] += parts[share.number] if share else []
    order = [lane.name for lane in run.plan.lane if lane.name in names]
    fitted = [FittedPrompt(prompt=(*key,), length=asdict(value)) for key, value in run.traces.lengths.items()]
    phases = [
        Phase(
            lanes=[lanes[number][name] for name in order],
            sessions=[(one.lane, one.trace, one.repeat) for one in given[number]],
            kept=[(one.lane, one.trace, one.repeat) for one in kept if one.lane in lanes[number]],
            lengths=fitted,
        )
        for number in range(n)
    ]
    return phases, kept


def _kept(sessions: int, places: int | None) -> int:
    """How many wait, of those that cannot all be in flight at once."""
    return min(sessions // _KEPT, max(0, sessions - places)) if places else 0


def _described(lane: Lane, places: int | None, share: tuple[int, int] | None) -> OpenLane:
    of = share[1] if share else 1
    instances = [_instance(one.engine, _part(one.facts, of)) for one in lane.instances]
    return OpenLane(name=lane.name, model=lane.model, instances=instances, places=places, share=share)


def _part(facts: EngineFacts, of: int) -> EngineFacts:
    """What is left of a server's cache for the sessions of one of several shards: those of the others fill the rest."""
    pool, slots = facts.kv_pool_tokens, facts.effective.get("slots")
    part = {"slots": max(1, slots // of)} if isinstance(slots, int) else {}
    return replace(facts, kv_pool_tokens=pool and pool // of, effective={**facts.effective, **part})


def _instance(engine: Engine, facts: EngineFacts) -> OpenInstance:
    fields = engine.sampling_fields
    return OpenInstance(
        url=engine.dial_url,
        facts=asdict(facts),
        sampling_fields=None if fields is None else dict(fields),
        reports_cached=engine.reports_cached if isinstance(engine, OpenAIEngine) else None,
    )


def fitting(
    plan: Plan, phases: Sequence[list[list[Session]]], nodes: Sequence[Resources]
) -> list[list[list[Session]]]:
    """The phases, those cut in parts whose servers do not fit beside each other: the others wait. Raises PlanError where a
    server fits nowhere."""
    lanes = {lane.name: lane for lane in plan.lane}
    return [part for phase in phases for part in _parts(lanes, phase, nodes)]


def _parts(
    lanes: dict[str, LanePlan], phase: list[list[Session]], nodes: Sequence[Resources]
) -> list[list[list[Session]]]:
    parts: list[list[list[Session]]] = []
    free: list[list[Resources]] = []
    servers: list[set[object]] = []
    for queue in phase:
        lane = lanes[queue[0].lane]
        key = server_key(lane) or lane.name
        place = next((n for n, known in enumerate(servers) if key in known), None)
        if place is None:
            place = next((n for n, left in enumerate(free) if _take(left, lane.resources)), len(parts))
        if place == len(parts):
            parts.append([])
            servers.append(set())
            free.append([dict(node) for node in nodes])
            if not _take(free[place], lane.resources):
                asked = ", ".join(f"{name} {amount:g}" for name, amount in lane.resources.items())
                raise PlanError(f"lane {lane.name!r} asks for {asked}: no node of the cluster has so much")
        parts[place].append(queue)
        servers[place].add(key)
    return parts


def _take(nodes: list[Resources], asked: Resources) -> bool:
    """Whether a node has it; it is taken from the first that does."""
    for node in nodes:
        if all(node.get(name, 0.0) >= amount for name, amount in asked.items()):
            for name, amount in asked.items():
                node[name] -= amount
            return True
    return not asked
