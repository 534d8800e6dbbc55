"""SGLang 0.5."""

from __future__ import annotations

import re

from replayer.engines.kind import EngineKind
from replayer.engines.sampling_fields import SERVERS, fields
from replayer.engines.sglang.log import LOG

SGLANG = EngineKind(
    name="sglang",
    adapter="replayer.engines.sglang.adapter:SglangEngine",
    owner="sglang",
    sign=("/server_info", '"disable_radix_cache"'),
    sampling=SERVERS
    | fields(
        integer="priority",
        boolean="no_stop_trim separate_reasoning stream_reasoning",
        string="regex ebnf stop_regex extra_key lora_path",
        array="stop_regex",
        object="custom_params",
    ),
    # repetition_detection is accepted and ignored
    features={"parallel_tool_calls": "yes", "repetition_detection": "no"},
    advice={
        "cached_tokens": "usage lacks cached tokens: start SGLang with --enable-cache-report",
        "tools": "tool calls are not parsed: start SGLang with --tool-call-parser NAME",
        "metrics": "there is no metrics page: start SGLang with --enable-metrics",
        "prefix_caching": "prefix caching is off: start SGLang without --disable-radix-cache",
    },
    context_flag="--context-length",
    error_rules=(
        (re.compile(r"function\.arguments must be valid JSON|expected a string key", re.I), "bad_request"),
        (re.compile(r"\btools? (?:list|choice|\d+ function)|^Tools? ", re.I), "bad_tools"),
    ),
    log=LOG,
)
