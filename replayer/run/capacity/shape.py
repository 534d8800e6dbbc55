"""What a capacity search is asked: limits, thresholds, levels, prices (the `[capacity]` table of a plan).

Presets are settings that follow public rules, with what of those rules they cannot keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, field_validator

from replayer.errors import PlanError
from replayer.metrics.capacity.limits import Limit, parse_limits
from replayer.plan.load_shape import Above0OrNone, Flag, From1, From1OrNone, LoadShape, Strict
from replayer.text import nearest
from replayer.wire.types import JsonObject

LEVEL_SECONDS, WARM_UP_SECONDS = 60.0, 2.0


class CapacityShape(Strict):
    """How many live sessions hold, by which limits."""

    slo: Annotated[
        str, Flag("limits, each held by a share of the turns: ttft_ms.p95=15000,decode_tok_s.p5=30", "EXPR")
    ] = ""
    usable: Annotated[
        float,
        Field(gt=0, lt=1),
        Flag("share of the turns that must keep every limit and be usable (default 0.95)", "X"),
    ] = 0.95
    tiers: Annotated[
        str, Flag("further limits on decode tok/s per turn, judged over the same levels: 20,60,100", "A,B")
    ] = ""
    cap: Annotated[From1, Flag("most sessions to try (default 256)", "N")] = 256
    first: Annotated[From1, Flag("the level to begin with (default 4)", "N", "--from")] = 4
    resolution: Annotated[
        float,
        Field(ge=0, lt=1),
        Flag("stop once the answer is known to this share of it (default 0: exactly)", "X"),
    ] = 0.0
    keep_cache: Annotated[bool, Flag("caches stay as the level before left them (default: emptied)")] = False
    preset: Annotated[str | None, Flag("limits of a public rule: agentperf, agentx", "NAME")] = None
    gpus: Annotated[From1OrNone, Flag("GPUs that serve a lane, where nothing reports them", "N")] = None
    price_gpu_hour: Annotated[Above0OrNone, Flag("price of a GPU for an hour", "P")] = None
    price_tokens: Annotated[
        str | None, Flag("an API's prices for a million tokens: INPUT,CACHED,OUTPUT", "P,P,P")
    ] = None

    @field_validator("slo")
    @classmethod
    def _slo_is_known(cls, text: str) -> str:
        parse_limits(text)
        return text

    @field_validator("tiers")
    @classmethod
    def _tiers_are_numbers(cls, text: str) -> str:
        _numbers(text, "tiers")
        return text

    @field_validator("price_tokens")
    @classmethod
    def _prices_are_three(cls, text: str | None) -> str | None:
        if text is not None and len(_numbers(text, "price_tokens")) != 3:
            raise ValueError("price_tokens is INPUT,CACHED,OUTPUT for a million tokens, for example 3,0.3,15")
        return text

    @property
    def limits(self) -> tuple[Limit, ...]:
        return parse_limits(self.slo)

    @property
    def tier_limits(self) -> tuple[Limit, ...]:
        return tuple(parse_limits(f"decode_tok_s.p5={bound:g}")[0] for bound in _numbers(self.tiers, "tiers"))

    @property
    def token_prices(self) -> tuple[float, float, float] | None:
        """For a token: fresh input, cached input, output."""
        if self.price_tokens is None:
            return None
        fresh, cached, output = (price / 1e6 for price in _numbers(self.price_tokens, "price_tokens"))
        return fresh, cached, output


def _numbers(text: str, name: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{name} {text!r} is not a list of numbers") from None
    if any(number < 0 for number in found):
        raise ValueError(f"{name} {text!r}: numbers must not be negative")
    return found


def level_load(asked: LoadShape, sessions: int) -> LoadShape:
    """The load of one level: staggered, so that it is from the beginning as it will be; at most a minute."""
    changed: dict[str, object] = {"sessions": sessions}
    given = asked.model_fields_set
    if "start" not in given:
        changed["start"] = "staggered"
    if asked.duration is None:
        changed["duration"] = LEVEL_SECONDS
    if "warm_up" not in given:
        changed["warm_up"] = WARM_UP_SECONDS
    return LoadShape.model_validate(asked.model_dump() | changed)


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
