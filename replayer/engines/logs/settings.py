"""What was asked of a server and what it made of it, from the first part of its log."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replayer.engines.logs.lines import clean, number


@dataclass(slots=True)
class LogSettings:
    """`effective` has common words where there are such; `notes` are the server's own sentences about a change."""

    kind: str | None = None
    version: str | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    effective: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kv_pool_tokens: int | None = None
    swa_pool_tokens: int | None = None

    def as_data(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "asked": self.asked,
            "effective": self.effective,
            "notes": self.notes,
            "kv_pool_tokens": self.kv_pool_tokens,
            "swa_pool_tokens": self.swa_pool_tokens,
        }


_NOTE = re.compile(
    r"is set to .* by default|is reset to|disabled because|will be disabled|won't work with|not supported with"
    r"|promoted|falling back|Setting .* to|overrid(?:e|ing) .* to",
    re.I,
)
_PREFIX = re.compile(
    r"^.*?(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]|(?:INFO|WARNING) [\d-]+ [\d:]+ \[[^\]]+\])\s*"
)
_VLLM_CONFIG = {
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "dtype": "dtype",
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "max_seq_len": "context_length",
    "enable_prefix_caching": "prefix_caching",
}
_SGLANG_ARGS = {
    "kv_cache_dtype": "kv_cache_dtype",
    "quantization": "quantization",
    "dtype": "dtype",
    "tp_size": "tp",
    "pp_size": "pp",
    "dp_size": "dp",
    "ep_size": "ep",
    "context_length": "context_length",
    "attention_backend": "attention_backend",
    "page_size": "block_size",
    "tool_call_parser": "tool_call_parser",
    "reasoning_parser": "reasoning_parser",
    "enable_cache_report": "cache_report",
}
_SPECULATIVE = ("algorithm", "num_steps", "eagle_topk", "num_draft_tokens", "draft_model_path")


def read_settings(lines: Iterable[str]) -> LogSettings:
    settings = LogSettings()
    for raw in lines:
        line = clean(raw)
        for mark, take in _TAKERS:
            if mark in line:
                take(settings, line)
        if _NOTE.search(line) and len(line) < 400:
            note = _PREFIX.sub("", line).strip()
            if note not in settings.notes:
                settings.notes.append(note)
    return settings


START_BYTES = 4_000_000
"""Settings are printed at the start; a log may be very long."""


def with_log(facts: dict[str, Any], log: Path | None) -> dict[str, Any]:
    """Lane facts with what the server's log says of its settings under `log`; the server's own word goes first."""
    if log is None:
        return facts
    try:
        with log.open("rb") as file:
            settings = read_settings(file.read(START_BYTES).decode("utf-8", "replace").splitlines())
    except OSError:
        return facts
    if not (settings.asked or settings.effective or settings.notes):
        return facts
    pool = facts.get("kv_pool_tokens") or settings.kv_pool_tokens
    effective = {k: v for k, v in settings.effective.items() if v is not None} | (
        facts.get("effective") or {}
    )
    return facts | {"log": settings.as_data(), "kv_pool_tokens": pool, "effective": effective}


def _vllm_asked(settings: LogSettings, line: str) -> None:
    settings.kind = "vllm"
    text = line.partition("non-default args: ")[2]
    try:
        asked = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return
    if isinstance(asked, dict):
        settings.asked = {str(key): value for key, value in asked.items()}


def _vllm_config(settings: LogSettings, line: str) -> None:
    settings.kind = "vllm"
    found = re.search(r"LLM engine \(v([^)]+)\)", line)
    settings.version = found[1] if found else None
    head = line.split("compilation_config=")[0]
    for key, word in _VLLM_CONFIG.items():
        value = re.search(rf"\b{key}=([^,)]+)", head)
        if value and value[1] != "None":
            settings.effective[word] = _literal(value[1])
    speculation = re.search(r"speculative_config=SpeculativeConfig\(([^)]*)\)", line)
    settings.effective["speculation"] = _pairs(speculation[1]) if speculation else None


def _vllm_backend(settings: LogSettings, line: str) -> None:
    found = re.search(r"Using (\w+) attention backend", line)
    if found:
        settings.effective["attention_backend"] = found[1]


def _vllm_pool(settings: LogSettings, line: str) -> None:
    pool = number(r"KV cache size:", line)
    if pool is not None:
        settings.kv_pool_tokens = int(pool)


def _sglang_args(settings: LogSettings, line: str) -> None:
    settings.kind = "sglang"
    args = _pairs(line.partition("ServerArgs(")[2])
    settings.effective |= {word: args[key] for key, word in _SGLANG_ARGS.items() if args.get(key) is not None}
    speculation = {name: args.get(f"speculative_{name}") for name in _SPECULATIVE}
    known = {name: value for name, value in speculation.items() if value is not None}
    settings.effective["speculation"] = known if known.get("algorithm") else None


def _sglang_pool(settings: LogSettings, line: str) -> None:
    for pattern in (r"full_layer_tokens=", r"max_total_num_tokens="):
        pool = number(pattern, line)
        if pool is not None:
            settings.kv_pool_tokens = int(pool)
            break
    swa = number(r"swa_layer_tokens=", line)
    if swa is not None:
        settings.swa_pool_tokens = int(swa)


def _sglang_bytes(settings: LogSettings, line: str) -> None:
    for word in ("K", "V"):
        size = number(rf"\b{word} size:", line)
        if size is not None:
            settings.effective[f"{word.lower()}_cache_gb"] = size


def _llama_slots(settings: LogSettings, line: str) -> None:
    settings.kind = settings.kind or "llamacpp"
    slots, context = number(r"n_slots =", line), number(r"n_ctx_slot =", line)
    if slots is not None and context is not None:
        settings.effective |= {"slots": int(slots), "context_length": int(context)}
        settings.kv_pool_tokens = int(slots * context)


_TAKERS = (
    ("non-default args: ", _vllm_asked),
    ("LLM engine (v", _vllm_config),
    ("attention backend", _vllm_backend),
    ("KV cache size:", _vllm_pool),
    ("ServerArgs(", _sglang_args),
    ("max_total_num_tokens=", _sglang_pool),
    ("layer_tokens=", _sglang_pool),
    ("K size:", _sglang_bytes),
    ("n_ctx_slot =", _llama_slots),
)


def _pairs(text: str) -> dict[str, Any]:
    """`a='x', b=1, c=[1, 2]` with the values of simple types."""
    return {name: _literal(value) for name, value in re.findall(r"(\w+)=('[^']*'|\[[^\]]*\]|[^,()]+)", text)}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
