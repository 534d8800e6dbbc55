"""vLLM 0.21 to 0.32."""

from __future__ import annotations

import re

from replayer.engines.kind import EngineKind
from replayer.engines.sampling_fields import SERVERS, fields
from replayer.engines.vllm.log import LOG

VLLM = EngineKind(
    name="vllm",
    adapter="replayer.engines.vllm.adapter:VllmEngine",
    owner="vllm",
    sign=("/metrics", "vllm:num_requests_running"),
    sampling=SERVERS
    | fields(
        number="length_penalty",
        integer="truncate_prompt_tokens priority",
        boolean="include_stop_str_in_output return_token_ids include_reasoning",
        array="allowed_token_ids bad_words",
        object="repetition_detection structured_outputs vllm_xargs",
    ),
    # tool-auto-forced-parallel2-*; repetition-detect-*: finish_reason "repetition"
    features={"parallel_tool_calls": "yes", "repetition_detection": "yes"},
    advice={
        "cached_tokens": "usage lacks cached tokens: start vLLM with --enable-prompt-tokens-details",
        "tools": "tool calls are not parsed: start vLLM with --enable-auto-tool-choice --tool-call-parser NAME",
        "metrics": "there is no metrics page: start vLLM without --disable-log-stats and let /metrics through",
        "cache_reset": (
            "its prefix cache cannot be emptied: start vLLM with VLLM_SERVER_DEV_MODE=1 (never in production)"
        ),
        "per_request_metrics": (
            "acceptance is not reported per reply: start vLLM with --enable-per-request-metrics "
            "--per-request-spec-decode-metrics detailed (0.32)"
        ),
        "prefix_caching": "prefix caching is off: start vLLM with --enable-prefix-caching",
    },
    context_flag="--max-model-len",
    error_rules=(
        (re.compile(r"tool_choice|^Grammar error", re.I), "bad_tools"),
        (re.compile(r"^Expecting property name|Expecting value: line", re.I), "bad_request"),
    ),
    # Drafters that need the last matched block's hidden states, so that vLLM computes it again (vLLM #52897); n-gram
    # drafting takes nothing (captured: vLLM 0.21 and 0.32 reuse the same blocks with and without it).
    backoff_methods=("eagle", "mtp", "dflash"),
    log=LOG,
)
