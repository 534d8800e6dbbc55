"""All kinds of engines, by name: one line per folder."""

from __future__ import annotations

from replayer.engines.ik_llama import IK_LLAMA
from replayer.engines.kind import EngineKind
from replayer.engines.llamacpp import LLAMACPP
from replayer.engines.openai import OPENAI
from replayer.engines.sglang import SGLANG
from replayer.engines.trtllm import TRTLLM
from replayer.engines.vllm import VLLM
from replayer.errors import PlanError
from replayer.text import nearest

KINDS: dict[str, EngineKind] = {
    kind.name: kind
    for kind in (
        VLLM,
        SGLANG,
        TRTLLM,
        IK_LLAMA,
        LLAMACPP,
        OPENAI,
    )
}
"""The more particular ones first: they are recognised in this order."""


def kind_named(name: str, where: str = "") -> EngineKind:
    """Raises PlanError with the nearest known name."""
    if name not in KINDS:
        raise PlanError(f"{where}no engine kind {name!r}{nearest(name, KINDS)}")
    return KINDS[name]
