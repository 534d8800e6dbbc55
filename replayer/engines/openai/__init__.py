"""Any OpenAI-compatible server of which nothing else is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replayer.engines.kind import EngineKind

if TYPE_CHECKING:
    from replayer.engines.openai.adapter import OpenAIEngine


def _adapter() -> type[OpenAIEngine]:
    from replayer.engines.openai.adapter import OpenAIEngine

    return OpenAIEngine


OPENAI = EngineKind(
    name="openai",
    adapter=_adapter,
    promises=None,
    features={"parallel_tool_calls": "unknown", "repetition_detection": "unknown"},
)
