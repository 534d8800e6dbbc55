"""vLLM's log lines: throughput and speculation every ten seconds, and the settings at its start."""

from __future__ import annotations

import re

from replayer.engines.logs.patterns import (
    LogPatterns,
    LogSample,
    LogSettings,
    integer,
    literal,
    number,
    pairs,
    share,
)

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


def _throughput(line: str) -> LogSample | None:
    decode = number(r"Avg generation throughput:", line)
    return None if decode is None else LogSample(
        decode_tok_s=decode,
        prefill_tok_s=number(r"Avg prompt throughput:", line),
        running=integer(r"Running:", line),
        waiting=integer(r"Waiting:", line),
        preempted=integer(r"Preemptions:", line),
        kv_used=share(r"KV cache usage:", line),
        hit_rate=share(r"(?<!External )(?<!MM )[Pp]refix cache hit rate:", line),
        external_hit_rate=share(r"External prefix cache hit rate:", line),
    )  # fmt: skip


def _drafts(line: str) -> LogSample:
    """Mean acceptance length is 1 + accepted / drafts."""
    return LogSample(
        acceptance_rate=share(r"Avg Draft acceptance rate:", line),
        acceptance_length=number(r"Mean acceptance length:", line),
        accepted=integer(r"Accepted:", line),
        drafted=integer(r"Drafted:", line),
    )


def _excerpt(line: str) -> LogSample:
    """The form in which people quote both lines as one."""
    return LogSample(
        decode_tok_s=number(r"[Gg]eneration throughput:", line),
        acceptance_rate=share(r"draft acceptance:", line),
        acceptance_length=number(r"acceptance length:", line),
    )


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


LOG = LogPatterns(
    samples=(
        ("Avg generation throughput:", _throughput),
        ("SpecDecoding metrics:", _drafts),
        ("eneration throughput:", _excerpt),
    ),
    settings=(
        ("non-default args: ", _asked),
        ("LLM engine (v", _config),
        ("attention backend", _backend),
        ("KV cache size:", _pool),
    ),
)
