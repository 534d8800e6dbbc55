"""Lanes on a cluster: what fits runs at the same time, the others wait."""

from __future__ import annotations

import pytest

from replayer.errors import PlanError
from replayer.plan.load import make_plan
from replayer.plan.model import Plan
from replayer.plan.schedule import batches, sessions
from replayer.run.shards.dealing import fitting

NODES: list[dict[str, float]] = [{"GPU": 4, "CPU": 8}, {"GPU": 2, "CPU": 8}]


def plan(*asked: dict[str, float], **more: object) -> Plan:
    server = {"url": "http://{host}:{port}/v1", "command": ["serve"]}
    lanes = [{"name": str(n), "resources": one} | (server if one else URL) for n, one in enumerate(asked)]
    return make_plan({"traces": ["t"], "lane": lanes, "ray": "local", **more})


URL: dict[str, object] = {"url": "http://127.0.0.1:8000/v1"}


def waves(made: Plan) -> list[list[str]]:
    phases = fitting(made, batches(made, sessions(made, ["t"])), NODES)
    return [[queue[0].lane for queue in phase] for phase in phases]


def test_eight_lanes_of_one_gpu_on_six_take_two_rounds() -> None:
    assert waves(plan(*[{"GPU": 1}] * 8)) == [list("012345"), list("67")]


def test_a_server_never_spans_two_nodes_and_a_small_one_fills_the_gap() -> None:
    assert waves(plan({"GPU": 4}, {"GPU": 4}, {"GPU": 2}, {})) == [["0", "2", "3"], ["1"]]


def test_lanes_of_one_server_ask_once() -> None:
    assert waves(plan({"GPU": 4}, {"GPU": 4}, wire="all")) == [
        [f"0+wire={wire}" for wire in ("chat", "messages", "responses")],
        [f"1+wire={wire}" for wire in ("chat", "messages", "responses")],
    ]


def test_what_fits_nowhere_is_said_before_anything_starts() -> None:
    with pytest.raises(PlanError, match="lane '1' asks for GPU 5: no node of the cluster has so much"):
        waves(plan({"GPU": 1}, {"GPU": 5}))


def test_resources_without_a_cluster_or_a_command_are_rejected() -> None:
    with pytest.raises(PlanError, match="lane '0' asks for resources, which only a Ray cluster gives"):
        plan({"GPU": 1}, ray=None)
    for asked in ({"resources": {"GPU": 1}}, {"resources": {"GPU": 0}, "command": ["serve"]}):
        with pytest.raises(
            PlanError, match="lane 'a': resources are amounts over 0 for the server of a command"
        ):
            make_plan({"lane": [{"name": "a"} | asked | URL], "ray": "local"})
