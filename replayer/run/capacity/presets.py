"""Settings that follow public rules, and what of those rules they cannot keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from replayer.errors import PlanError
from replayer.text import nearest
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class Preset:
    capacity: JsonObject
    load: JsonObject
    plan: JsonObject
    not_kept: tuple[str, ...] = field(default=())


PRESETS = {
    "agentperf": Preset(
        capacity={"slo": "ttft_ms.p95=15000,decode_tok_s.p5=20", "tiers": "20,60,100"},
        load={"start": "staggered"},
        plan={"timing": "recorded"},
        not_kept=(
            "agentperf's own recordings are not public: the sessions are the ones given here",
            "its figures per accelerator and per megawatt are of whole systems: here power is that of the GPUs alone",
            "its verdict is on latency alone: here turns must be usable too (the limits alone stand beside it)",
        ),
    ),
    "agentx": Preset(
        capacity={},
        load={"start": "staggered", "idle_cap": 10.0},
        plan={"timing": "recorded"},
        not_kept=(
            "agentx sets no limit on latency: give --slo",
            "its corpus is synthesised to the token from cc-traces-weka: fetch it with `replayer get`, or give other sessions",
            "it measures a fixed number of sessions for half an hour and more: here a level ends once it is decided",
            "its replies have the recorded length to the token (ignore_eos): here the engine ends its replies itself",
            "a submission stays valid with HTTP 500s: here over 5 % of errors claim nothing",
        ),
    ),
}


def preset(name: str) -> Preset:
    """Raises PlanError."""
    if name not in PRESETS:
        raise PlanError(f"no preset {name!r}{nearest(name, PRESETS)}")
    return PRESETS[name]
