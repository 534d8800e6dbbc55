"""Which lanes run at the same time on a cluster: as many as the nodes have what they ask for."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.errors import PlanError
from replayer.plan.model import LanePlan, Plan
from replayer.plan.schedule import Session
from replayer.run.lanes import server_key
from replayer.run.shards.launching import Resources


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
