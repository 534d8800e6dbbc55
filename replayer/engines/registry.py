"""All kinds of engines, by name: one line per folder."""

from __future__ import annotations

from replayer.engines.kind import EngineKind
from replayer.errors import PlanError
from replayer.lazy import LazyTable
from replayer.text import nearest

KINDS: LazyTable[EngineKind] = LazyTable(
    "replayer.engines",
    {
        "vllm": "vllm:VLLM",
        "sglang": "sglang:SGLANG",
        "trtllm": "trtllm:TRTLLM",
        "ik_llama": "ik_llama:IK_LLAMA",
        "llamacpp": "llamacpp:LLAMACPP",
        "openai": "openai:OPENAI",
    },
)
"""The more particular ones first: they are recognised in this order."""


def kind_named(name: str, where: str = "") -> EngineKind:
    """Raises PlanError with the nearest known name."""
    if name not in KINDS:
        raise PlanError(f"{where}no engine kind {name!r}{nearest(name, KINDS)}")
    return KINDS[name]
