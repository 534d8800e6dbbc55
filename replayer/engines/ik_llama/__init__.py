"""ik_llama.cpp: it looks like llama.cpp and reports less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replayer.engines.kind import EngineKind
from replayer.engines.llamacpp import ADVICE, ERROR_RULES
from replayer.engines.sampling_fields import LLAMA, fields

if TYPE_CHECKING:
    from replayer.engines.openai.adapter import OpenAIEngine


def _adapter() -> type[OpenAIEngine]:
    from replayer.engines.ik_llama.adapter import IkLlamaEngine

    return IkLlamaEngine


IK_LLAMA = EngineKind(
    name="ik_llama",
    adapter=_adapter,
    owner="llamacpp",
    server="ik_llama",
    sampling=LLAMA | fields(number="tfs_z", boolean="penalize_nl"),
    features={"parallel_tool_calls": "unknown", "repetition_detection": "no"},
    advice=ADVICE,
    context_flag="-c / --ctx-size",
    error_rules=ERROR_RULES,
)
