"""What a simulated engine is told to be, as flags, lane options and its own process share it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from replayer.errors import PlanError
from replayer.simulated.planted import parse_fault
from replayer.text import nearest

SimulatedKind = Literal["vllm", "sglang", "trtllm", "llamacpp", "ik_llama"]

BLOCK_SIZES: dict[str, int] = {"vllm": 16, "sglang": 1, "trtllm": 32, "llamacpp": 1, "ik_llama": 1}
"""Tokens per cache block that each kind uses by default on a GPU (llama.cpp reuses single tokens)."""

_LISTS = {"trace", "fault", "lora"}
_NUMBERS: dict[str, tuple[bool, float]] = {
    "tok_s": (False, 0.001),
    "total_tok_s": (False, 0.001),
    "prefill_tok_s": (False, 0.001),
    "ttft_ms": (False, 0),
    "band_seconds": (False, 0.001),
    "metrics_delay": (False, 0),
    "seed": (True, 0),
    "chunk_tokens": (True, 1),
    "block_size": (True, 1),
    "pool_tokens": (True, 0),
    "context_length": (True, 1),
    "draft_tokens": (True, 0),
    "slots": (True, 1),
}
"""Setting -> whether it is a whole number, and its least value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSpec:
    """Settings of one simulated engine. Speeds in tokens/s, where None is as fast as possible."""

    kind: SimulatedKind = "vllm"
    model: str = "simulated"
    trace: tuple[str, ...] = ()
    """Native trace files whose replies are played."""
    captures: str | None = None
    """Folder of captured exchanges that are played back byte for byte instead."""
    fault: tuple[str, ...] = ()
    seed: int = 0
    tok_s: float | None = None
    """Decode speed; with speculation, at the first value of `acceptance`."""
    total_tok_s: float | None = None
    """Decode speed of all requests together, shared evenly: SGLang on an H200 gave one request 2,425 tokens/s and 47
    requests 11,470 in all (`sglang-0.5.12-h200/logs`, `gen throughput` by `#running-req`)."""
    ttft_ms: float = 0.0
    prefill_tok_s: float | None = None
    chunk_tokens: int = 1
    """Tokens per streamed event without speculation."""
    block_size: int | None = None
    pool_tokens: int = 1_000_000
    context_length: int = 131_072
    spec_backoff: bool = False
    """Reuse stops one block short, as with EAGLE and MTP drafts in vLLM."""
    draft_tokens: int = 0
    """Drafted tokens per turn; 0 is no speculation."""
    acceptance: tuple[float, ...] = (0.7,)
    """Share of drafted tokens accepted; several values take turns, `band_seconds` each."""
    band_seconds: float = 5.0
    slots: int | None = None
    """Requests served at once; further ones wait (the same log: `#running-req: 47 … #queue-req: 17`)."""
    api_key: str | None = None
    report_cached: bool = True
    """Usage carries `prompt_tokens_details` (vLLM and SGLang: only with a flag)."""
    report_metrics: bool = True
    tool_parser: bool = True
    """Off: call markup stays in the content, as without --tool-call-parser or a template with tools."""
    reset_endpoint: bool = True
    metrics_delay: float = 0.0
    """Seconds before a metrics page answers."""
    lora: tuple[str, ...] = ()
    """Further served names, each with a prefix cache of its own."""

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
    def from_options(cls, options: Mapping[str, Any]) -> SimulatedSpec:
        """Check names, types and faults. Raises PlanError naming the nearest right option."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in options.items():
            if name not in known:
                raise PlanError(f"a simulated engine has no setting {name!r}{nearest(name, known)}")
            values[name] = _convert(name, value)
        spec = cls(**values)
        _check(spec)
        return spec


def _convert(name: str, value: Any) -> Any:
    if name in _LISTS:
        return (value,) if isinstance(value, str) else tuple(value)
    if name == "acceptance":
        items = value.split("/") if isinstance(value, str) else value
        items = items if isinstance(items, list | tuple) else [items]
        return tuple(_number(name, item) for item in items)
    return value


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise PlanError(f"simulated engine: {name} must be a number, not {value!r}") from None


def _check(spec: SimulatedSpec) -> None:
    if spec.kind not in get_args(SimulatedKind):
        raise PlanError(
            f"a simulated engine imitates {', '.join(get_args(SimulatedKind))}, not {spec.kind!r}"
        )
    for name, (whole, least) in _NUMBERS.items():
        value = getattr(spec, name)
        if value is not None and not _is_number(value, whole, least):
            what = "a whole number" if whole else "a number"
            raise PlanError(f"simulated engine: {name} must be {what} of at least {least}, not {value!r}")
    if not all(0 <= share <= 1 for share in spec.acceptance) or not spec.acceptance:
        raise PlanError("simulated engine: acceptance must lie between 0 and 1")
    for fault in spec.fault:
        parse_fault(fault)


def _is_number(value: object, whole: bool, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return value >= least
