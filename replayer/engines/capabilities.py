"""What each kind of engine can do that the API does not tell, as data. Seen in the captures unless it says source."""

from __future__ import annotations

from dataclasses import dataclass

from replayer.engines.base import EngineKind, Tristate


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`reasoning_field` is the key of a delta or message that carries reasoning."""

    reasoning_field: str | None
    parallel_tool_calls: Tristate
    repetition_detection: Tristate
    """Stops a repeating generation by itself when asked to (`repetition_detection` in the request)."""
    rejects_bad_history: Tristate
    """Refuses a history whose tool arguments are no JSON; others coerce it silently."""


CAPABILITIES: dict[EngineKind, Capabilities] = {
    # tool-auto-forced-parallel2-*; repetition-detect-*: finish_reason "repetition"; 0.21 refuses bad history, 0.32 not
    "vllm": Capabilities("reasoning", "yes", "yes", "unknown"),
    # repetition_detection is accepted and ignored
    "sglang": Capabilities("reasoning_content", "yes", "no", "yes"),
    "trtllm": Capabilities("reasoning_content", "yes", "unknown", "unknown"),
    # chat_template_caps.supports_parallel_tool_calls of /props decides
    "llamacpp": Capabilities("reasoning_content", "unknown", "no", "yes"),
    "ik_llama": Capabilities("reasoning_content", "unknown", "no", "unknown"),
    "openai": Capabilities(None, "unknown", "unknown", "unknown"),
}
