"""llama.cpp's server."""

from __future__ import annotations

import re

from replayer.engines.error_words import Rule
from replayer.engines.kind import EngineKind
from replayer.engines.llamacpp.log import LOG
from replayer.engines.sampling_fields import LLAMA, fields

ADVICE = {
    "metrics": "there is no metrics page: start llama-server with --metrics",
    "tools": (
        "the chat template renders no tools, so they are silently ignored: start llama-server with --jinja and "
        "--chat-template-file FILE, a template with tools"
    ),
    "cache_reset": "its prompt cache cannot be emptied: start llama-server with --slot-save-path DIR",
}
ERROR_RULES: tuple[Rule, ...] = (
    (re.compile(r"^Failed to parse tool call arguments", re.I), "bad_request"),
    (
        re.compile(
            r"^Failed to parse tools|^tools param requires|tool_choice|grammar constraints with tools"
            r"|^Unable to generate parser",
            re.I,
        ),
        "bad_tools",
    ),
)

LLAMACPP = EngineKind(
    name="llamacpp",
    adapter="replayer.engines.llamacpp.adapter:LlamaCppEngine",
    owner="llamacpp",
    sign=("/props", '"default_generation_settings"'),
    sampling=LLAMA | fields(number="adaptive_target adaptive_decay"),
    # chat_template_caps.supports_parallel_tool_calls of /props decides
    features={"parallel_tool_calls": "unknown", "repetition_detection": "no"},
    advice=ADVICE,
    context_flag="-c / --ctx-size",
    error_rules=ERROR_RULES,
    log=LOG,
)
