"""Lanes that the coordinator opened, as a shard gets them: nobody asks a server twice what it is."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.engines.base import EngineFacts
from replayer.engines.detect import unasked
from replayer.engines.openai.adapter import OpenAIEngine
from replayer.plan.model import LanePlan
from replayer.run.headers import fixed, lane_headers
from replayer.run.lanes import Instance, Lane, api_key
from replayer.run.shards.messages import OpenInstance, OpenLane
from replayer.wire.client import WireClient
from replayer.wire.limits import Timeouts
from replayer.wire.remote import Receiver


def opened(known: OpenLane, lanes: Sequence[LanePlan], timeouts: Timeouts, receiver: Receiver) -> Lane:
    """The lane with connections of this process's own. Raises PlanError where a variable that it names is not set."""
    plan = next(lane for lane in lanes if lane.name == known.name)
    if known.places is not None:
        plan = plan.model_copy(update={"concurrency": known.places})
    instances = [_opened(one, plan, known.model, timeouts, receiver) for one in known.instances]
    return Lane(plan=plan, instances=instances, model=known.model)


def _opened(
    known: OpenInstance, plan: LanePlan, model: str, timeouts: Timeouts, receiver: Receiver
) -> Instance:
    facts = EngineFacts(**{**known.facts, "models": tuple(known.facts["models"])})
    key, headers = api_key(plan), lane_headers(plan)
    engine = unasked(known.url, facts.kind, api_key=key, headers=fixed(headers))
    engine.sampling_fields, engine.model = known.sampling_fields, model
    if isinstance(engine, OpenAIEngine):
        engine.reports_cached = known.reports_cached
    client = WireClient(
        engine.dial_url, api_key=key, classify=engine.fault, receiver=receiver, timeouts=timeouts
    )
    return Instance(engine=engine, client=client, facts=facts, headers=headers)
