"""TensorRT-LLM's trtllm-serve, by its documentation: it was not run here."""

from __future__ import annotations

import re

from replayer.engines.kind import EngineKind
from replayer.engines.sampling_fields import SERVERS, fields

TRTLLM = EngineKind(
    name="trtllm",
    adapter="replayer.engines.trtllm.adapter:TrtLlmEngine",
    owner="tensorrt_llm",
    sign=("/prometheus/metrics", "trtllm_"),
    sampling=SERVERS
    | fields(
        number="top_p_min length_penalty",
        integer="truncate_prompt_tokens",
        boolean="early_stopping include_stop_str_in_output",
        object="lora_request",
    ),
    features={"parallel_tool_calls": "yes", "repetition_detection": "unknown"},
    advice={
        "metrics": (
            "no iteration statistics: set enable_iter_perf_stats: true (and return_perf_metrics: true) in the file "
            "given to trtllm-serve --config (--extra_llm_api_options before 1.2)"
        ),
        "cached_tokens": (
            "usage lacks cached tokens: set kv_cache_config.enable_block_reuse: true in trtllm-serve's --config file"
        ),
        "tools": "tool calls are not parsed: start trtllm-serve with --tool_parser NAME",
    },
    context_flag="--max_seq_len",
    error_rules=(
        (re.compile(r"should not exceed max_(?:num_tokens|seq_len|input_len)", re.I), "context_too_long"),
    ),
)
