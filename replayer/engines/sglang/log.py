"""SGLang's log lines: a line per prefill and per forty decodes, and the settings at its start."""

from __future__ import annotations

import re

from replayer.engines.logs.patterns import LogPatterns, LogSettings, figures, integer, number, pairs

EFFECTIVE = {
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "dtype": "dtype",
    "attention_backend": "attention_backend",
    "weights": "model_path",
    "tp": "tp_size",
    "pp": "pp_size",
    "dp": "dp_size",
    "ep": "ep_size",
    "cp": "attn_cp_size",
    "dp_attention": "enable_dp_attention",
    "disaggregation": "disaggregation_mode",
    "lora": "lora_paths",
    "tool_call_parser": "tool_call_parser",
    "reasoning_parser": "reasoning_parser",
    "chunked_prefill_size": "chunked_prefill_size",
    "max_running_requests": "max_running_requests",
}
"""Common word -> argument of the server, as /server_info and its log name it."""
SPECULATION = {
    "method": "speculative_algorithm",
    "model": "speculative_draft_model_path",
    "num_steps": "speculative_num_steps",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "eagle_topk": "speculative_eagle_topk",
}
_ARGS = EFFECTIVE | {
    "context_length": "context_length",
    "block_size": "page_size",
    "cache_report": "enable_cache_report",
}


def _server_args(settings: LogSettings, line: str) -> None:
    args = pairs(line.partition("ServerArgs(")[2])
    settings.effective |= {
        word: args[key] for word, key in _ARGS.items() if args.get(key) not in (None, "null")
    }
    asked = {word: args.get(key) for word, key in SPECULATION.items()}
    promoted = settings.effective.get("speculation") or {}
    found = {name: value for name, value in (asked | promoted).items() if value is not None}
    settings.effective["speculation"] = found if found.get("method") else None


def _promoted(settings: LogSettings, line: str) -> None:
    """A speculative method that the server replaces by one that suits the model."""
    if found := re.search(r"promoting --speculative-algorithm (\S+) to (\w+)", line, re.I):
        settings.asked["speculative_algorithm"] = found[1]
        speculation = settings.effective.get("speculation") or {}
        settings.effective["speculation"] = speculation | {"method": found[2]}


def _kv_type(settings: LogSettings, line: str) -> None:
    """What `--kv-cache-dtype auto` came to."""
    if found := re.search(r"KV cache dtype:\s*torch\.(\w+)", line):
        settings.effective["kv_cache_dtype_resolved"] = found[1]


def _pool(settings: LogSettings, line: str) -> None:
    pools = (number(pattern, line) for pattern in (r"full_layer_tokens=", r"max_total_num_tokens="))
    full = next((pool for pool in pools if pool is not None), None)
    if full is not None:
        settings.kv_pool_tokens = int(full)
    swa = integer(r"swa_layer_tokens=", line)
    if swa is not None:
        settings.swa_pool_tokens = swa


def _bytes(settings: LogSettings, line: str) -> None:
    """Every pool prints its own K and V, the full layers', the sliding windows' and a draft model's: all count."""
    effective = settings.effective
    for word in ("K", "V"):
        size = number(rf"\b{word} size:", line)
        if size is None and (found := re.search(rf"([0-9.]+) GB {word}\b", line)):
            size = float(found[1])
        if size is not None:
            for key in (f"{word.lower()}_cache_gb", "kv_cache_gb"):
                effective[key] = round(effective.get(key, 0.0) + size, 2)


_USAGE = r"(?:full )?token usage:"
_DECODE = figures(
    decode_tok_s=r"gen throughput \(token/s\):",
    running=r"#running-req:",
    waiting=r"#queue-req:",
    kv_used=_USAGE,
    acceptance_length=r"accept len:",
    acceptance_rate=r"accept rate:",
)
_PREFILL = figures(
    prefill_tok_s=r"input throughput \(token/s\):",
    new_tokens=r"#new-token:",
    cached_tokens=r"#cached-token:",
    waiting=r"#queue-req:",
    kv_used=_USAGE,
)
LOG = LogPatterns(
    samples=(
        ("Decode batch", _DECODE),
        ("Prefill batch", _PREFILL),
        # the pool was full: requests lost their place in it and are computed anew
        ("#retracted_reqs:", figures(preempted=r"#retracted_reqs:")),
    ),
    settings=(
        ("ServerArgs(", _server_args),
        ("promoting --speculative-algorithm", _promoted),
        ("KV cache dtype:", _kv_type),
        ("max_total_num_tokens=", _pool),
        ("layer_tokens=", _pool),
        ("K size:", _bytes),
        ("GB K +", _bytes),
    ),
)
