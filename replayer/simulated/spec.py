"""What a simulated engine is asked to be, as flags, lane options and its own process share it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Literal, get_args, get_type_hints

from replayer.errors import PlanError
from replayer.simulated.planted import parse_faults
from replayer.text import nearest
from replayer.wire.types import Json, JsonObject

SimulatedKind = Literal["vllm", "sglang", "trtllm", "llamacpp", "ik_llama"]
Group = Literal["engine", "speed", "prefix cache", "what it reports"]

BLOCK_SIZES: dict[str, int] = {"vllm": 16, "sglang": 1, "trtllm": 32, "llamacpp": 1, "ik_llama": 1}
"""Tokens per cache block that each kind uses by default on a GPU (llama.cpp reuses single tokens)."""


@dataclass(frozen=True, slots=True)
class About:
    """How `replayer simulate` offers a setting, and the least value of a number."""

    words: str
    group: Group
    least: float | None = None
    flag: str | None = None
    """Where a flag switches something off, its name; else it is the setting's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSpec:
    """Settings of one simulated engine. Speeds in tokens/s, where None is as fast as possible."""

    kind: Annotated[SimulatedKind, About("the engine to imitate", "engine")] = "vllm"
    model: Annotated[str, About("the served model's name", "engine")] = "simulated"
    trace: Annotated[tuple[str, ...], About("a trace whose replies are played (repeatable)", "engine")] = ()
    captures: Annotated[
        str | None, About("play a folder of captured exchanges back byte for byte instead", "engine")
    ] = None
    fault: Annotated[
        tuple[str, ...], About("a seeded fault, class[@rate][:key=value...] (repeatable)", "engine")
    ] = ()
    seed: Annotated[int, About("seed of all that is drawn", "engine", 0)] = 0
    api_key: Annotated[str | None, About("answer 401 without it", "engine")] = None
    slots: Annotated[int | None, About("requests served at once; further ones wait", "engine", 1)] = None
    """As in `sglang-0.5.12-h200/logs`: `#running-req: 47 … #queue-req: 17`."""
    lora: Annotated[
        tuple[str, ...], About("a further served name with a cache of its own (repeatable)", "engine")
    ] = ()

    tok_s: Annotated[
        float | None, About("decode tokens/s of one request (default: as fast as possible)", "speed", 0.001)
    ] = None
    """With speculation, at the first value of `acceptance`."""
    total_tok_s: Annotated[
        float | None, About("decode tokens/s of all requests together, shared evenly", "speed", 0.001)
    ] = None
    """SGLang on an H200 gave one request 2,425 tokens/s and 47 requests 11,470 in all (the same log)."""
    ttft_ms: Annotated[float, About("time to the first token without prefill", "speed", 0)] = 0.0
    prefill_tok_s: Annotated[
        float | None, About("prompt tokens/s of one request, cached ones not counted", "speed", 0.001)
    ] = None
    total_prefill_tok_s: Annotated[
        float | None, About("prompt tokens/s of all requests, one after another", "speed", 0.001)
    ] = None
    chunk_tokens: Annotated[int, About("tokens per streamed event without speculation", "speed", 1)] = 1
    draft_tokens: Annotated[int, About("speculation: drafted tokens per step", "speed", 0)] = 0
    acceptance: Annotated[
        tuple[float, ...], About("share of drafts accepted; A/B takes turns (bands)", "speed")
    ] = (0.7,)
    band_seconds: Annotated[float, About("how long each acceptance holds", "speed", 0.001)] = 5.0

    block_size: Annotated[int | None, About("tokens per block (default: the kind's)", "prefix cache", 1)] = (
        None
    )
    pool_tokens: Annotated[
        int, About("the KV pool that all requests share; 0 caches nothing", "prefix cache", 0)
    ] = 1_000_000
    host_tokens: Annotated[
        int, About("a second tier in host memory, for what was evicted", "prefix cache", 0)
    ] = 0
    remote_tokens: Annotated[
        int, About("a third tier behind the network, like LMCache's", "prefix cache", 0)
    ] = 0
    context_length: Annotated[int, About("longest prompt", "prefix cache", 1)] = 131_072
    spec_backoff: Annotated[
        bool, About("reuse stops one block short, as with EAGLE and MTP in vLLM", "prefix cache")
    ] = False

    stored_responses: Annotated[
        bool, About("keep responses for `previous_response_id`", "what it reports", flag="--stored-responses")
    ] = False
    """vLLM does with VLLM_ENABLE_RESPONSES_API_STORE=1 alone."""
    report_cached: Annotated[
        bool, About("usage without cached tokens", "what it reports", flag="--no-cached")
    ] = True
    """Off: without `prompt_tokens_details` (vLLM and SGLang have them only with a flag)."""
    report_metrics: Annotated[bool, About("no metrics page", "what it reports", flag="--no-metrics")] = True
    tool_parser: Annotated[
        bool, About("calls stay in the text", "what it reports", flag="--no-tool-parser")
    ] = True
    """Off: as without --tool-call-parser, or with a template that renders no tools."""
    reset_endpoint: Annotated[bool, About("no cache reset", "what it reports", flag="--no-reset")] = True
    metrics_delay: Annotated[float, About("seconds before a metrics page answers", "what it reports", 0)] = (
        0.0
    )

    @property
    def block(self) -> int:
        return self.block_size or BLOCK_SIZES[self.kind]

    @property
    def paced(self) -> bool:
        """Tokens have a time at which they are due."""
        return self.tok_s is not None or self.total_tok_s is not None

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> SimulatedSpec:
        return cls.from_options(json.loads(text))

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> SimulatedSpec:
        """Check names, types and faults. Raises PlanError naming the nearest right option."""
        for name in options:
            if name not in SETTINGS:
                raise PlanError(f"a simulated engine has no setting {name!r}{nearest(name, SETTINGS)}")
        values: JsonObject = {name: _convert(name, value) for name, value in options.items()}
        spec = cls(**values)
        _check(spec)
        return spec


_HINTS = get_type_hints(SimulatedSpec, include_extras=True)
SETTINGS: dict[str, About] = {item.name: _HINTS[item.name].__metadata__[0] for item in fields(SimulatedSpec)}
LISTS = frozenset(item.name for item in fields(SimulatedSpec) if item.default == ())
"""Settings that may be given several times."""
WHOLE = frozenset(name for name in SETTINGS if _HINTS[name].__origin__ in (int, int | None))


def _convert(name: str, value: Json) -> Json:
    if name in LISTS:
        return (value,) if isinstance(value, str) else tuple(value)
    if name == "acceptance":
        items = value.split("/") if isinstance(value, str) else value
        items = items if isinstance(items, list | tuple) else [items]
        return tuple(_number(name, item) for item in items)
    return value


def _number(name: str, value: Json) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise PlanError(f"simulated engine: {name} must be a number, not {value!r}") from None


def _check(spec: SimulatedSpec) -> None:
    if spec.kind not in get_args(SimulatedKind):
        raise PlanError(
            f"a simulated engine imitates {', '.join(get_args(SimulatedKind))}, not {spec.kind!r}"
        )
    for name, about in SETTINGS.items():
        value = getattr(spec, name)
        if about.least is not None and value is not None and not _is_number(value, name, about.least):
            what = "a whole number" if name in WHOLE else "a number"
            raise PlanError(
                f"simulated engine: {name} must be {what} of at least {about.least:g}, not {value!r}"
            )
    if not all(0 <= share <= 1 for share in spec.acceptance) or not spec.acceptance:
        raise PlanError("simulated engine: acceptance must lie between 0 and 1")
    parse_faults(spec.fault)


def _is_number(value: object, name: str, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if name in WHOLE else int | float):
        return False
    return value >= least
