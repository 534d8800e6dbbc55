"""Any OpenAI-compatible server of which nothing else is known."""

from __future__ import annotations

from replayer.engines.kind import EngineKind

OPENAI = EngineKind(
    name="openai",
    adapter="replayer.engines.openai.adapter:OpenAIEngine",
    promises=None,
    features={"parallel_tool_calls": "unknown", "repetition_detection": "unknown"},
)
