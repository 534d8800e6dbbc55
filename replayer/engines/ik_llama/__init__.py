"""ik_llama.cpp: it looks like llama.cpp and reports less."""

from __future__ import annotations

from replayer.engines.kind import EngineKind
from replayer.engines.llamacpp import ADVICE, ERROR_RULES
from replayer.engines.sampling_fields import LLAMA, fields

IK_LLAMA = EngineKind(
    name="ik_llama",
    adapter="replayer.engines.ik_llama.adapter:IkLlamaEngine",
    owner="llamacpp",
    server="ik_llama",
    sampling=LLAMA | fields(number="tfs_z", boolean="penalize_nl"),
    features={"parallel_tool_calls": "unknown", "repetition_detection": "no"},
    advice=ADVICE,
    context_flag="-c / --ctx-size",
    error_rules=ERROR_RULES,
)
