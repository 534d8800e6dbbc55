"""vLLM's log lines: throughput and speculation every ten seconds, and the settings at its start."""

from __future__ import annotations

import re

from replayer.engines.logs.patterns import LogPatterns, LogSettings, figures, integer, literal, pairs

_CONFIG = {
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "dtype": "dtype",
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "max_seq_len": "context_length",
    "enable_prefix_caching": "prefix_caching",
}


def _asked(settings: LogSettings, line: str) -> None:
    asked = literal(line.partition("non-default args: ")[2])
    if isinstance(asked, dict):
        settings.asked = {str(key): value for key, value in asked.items()}


def _config(settings: LogSettings, line: str) -> None:
    found = re.search(r"LLM engine \(v([^)]+)\)", line)
    settings.version = found[1] if found else None
    head = line.split("compilation_config=")[0]
    for key, word in _CONFIG.items():
        value = re.search(rf"\b{key}=([^,)]+)", head)
        if value and value[1] != "None":
            settings.effective[word] = literal(value[1])
    if settings.effective.get("kv_cache_dtype") == "auto" and "dtype" in settings.effective:
        settings.effective["kv_cache_dtype_resolved"] = str(settings.effective["dtype"]).removeprefix(
            "torch."
        )
    speculation = re.search(r"speculative_config=SpeculativeConfig\(([^)]*)\)", line)
    settings.effective["speculation"] = pairs(speculation[1]) if speculation else None


def _backend(settings: LogSettings, line: str) -> None:
    if found := re.search(r"Using (\w+) attention backend", line):
        settings.effective["attention_backend"] = found[1]


def _pool(settings: LogSettings, line: str) -> None:
    pool = integer(r"KV cache size:", line)
    if pool is not None:
        settings.kv_pool_tokens = pool


_THROUGHPUT = figures(
    decode_tok_s=r"Avg generation throughput:",
    prefill_tok_s=r"Avg prompt throughput:",
    running=r"Running:",
    waiting=r"Waiting:",
    preempted=r"Preemptions:",
    kv_used=r"%KV cache usage:",
    hit_rate=r"%(?<!External )(?<!MM )[Pp]refix cache hit rate:",
)
_DRAFTS = figures(
    acceptance_rate=r"%Avg Draft acceptance rate:",
    acceptance_length=r"Mean acceptance length:",  # 1 + accepted / drafts
    accepted=r"Accepted:",
    drafted=r"Drafted:",
)
# the form in which people quote both lines as one
_EXCERPT = figures(
    decode_tok_s=r"[Gg]eneration throughput:",
    acceptance_rate=r"%draft acceptance:",
    acceptance_length=r"acceptance length:",
)
LOG = LogPatterns(
    samples=(
        ("Avg generation throughput:", _THROUGHPUT),
        ("SpecDecoding metrics:", _DRAFTS),
        ("eneration throughput:", _EXCERPT),
    ),
    settings=(
        ("non-default args: ", _asked),
        ("LLM engine (v", _config),
        ("attention backend", _backend),
        ("KV cache size:", _pool),
    ),
)
