"""One log line to what it says. Patterns are searched for, so container, journald and colour prefixes do not matter."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

LogKind = Literal["vllm", "sglang", "llamacpp"]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_NUMBER = r"([0-9][0-9.,]*)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSample:
    """What one line (or two that belong together) says of a moment. Shares are 0..1, unknown is None."""

    kind: LogKind
    decode_tok_s: float | None = None
    prefill_tok_s: float | None = None
    running: int | None = None
    waiting: int | None = None
    kv_used: float | None = None
    hit_rate: float | None = None
    """As the engine prints it: over its last requests (vLLM)."""
    acceptance_rate: float | None = None
    acceptance_length: float | None = None
    new_tokens: int | None = None
    cached_tokens: int | None = None

    def with_drafts(self, other: LogSample) -> LogSample:
        return replace(self, acceptance_rate=other.acceptance_rate, acceptance_length=other.acceptance_length)


def clean(line: str) -> str:
    return _ANSI.sub("", line).rstrip("\r\n")


def read_line(line: str) -> LogSample | None:
    """The sample in a cleaned line; None for all other lines."""
    for mark, reader in _READERS:
        if mark in line and (sample := reader(line)):
            return sample
    return None


def number(pattern: str, line: str) -> float | None:
    """The figure after a label."""
    found = re.search(pattern + r"\s*" + _NUMBER, line)
    return None if found is None else float(found[1].replace(",", "").rstrip("."))


def _share(pattern: str, line: str) -> float | None:
    percent = number(pattern, line)
    return None if percent is None else percent / 100


def _count(pattern: str, line: str) -> int | None:
    found = number(pattern, line)
    return None if found is None else int(found)


def _vllm(line: str) -> LogSample | None:
    decode = number(r"Avg generation throughput:", line)
    return None if decode is None else LogSample(
        kind="vllm",
        decode_tok_s=decode,
        prefill_tok_s=number(r"Avg prompt throughput:", line),
        running=_count(r"Running:", line),
        waiting=_count(r"Waiting:", line),
        kv_used=_share(r"KV cache usage:", line),
        hit_rate=_share(r"(?<!External )(?<!MM )[Pp]refix cache hit rate:", line),
    )  # fmt: skip


def _vllm_drafts(line: str) -> LogSample | None:
    """Mean acceptance length is 1 + accepted / drafts."""
    return LogSample(
        kind="vllm",
        acceptance_rate=_share(r"Avg Draft acceptance rate:", line),
        acceptance_length=number(r"Mean acceptance length:", line),
    )


def _vllm_excerpt(line: str) -> LogSample | None:
    """The form in which people quote both lines as one."""
    return LogSample(
        kind="vllm",
        decode_tok_s=number(r"[Gg]eneration throughput:", line),
        acceptance_rate=_share(r"draft acceptance:", line),
        acceptance_length=number(r"acceptance length:", line),
    )


def _sglang_decode(line: str) -> LogSample | None:
    return LogSample(
        kind="sglang",
        decode_tok_s=number(r"gen throughput \(token/s\):", line),
        running=_count(r"#running-req:", line),
        waiting=_count(r"#queue-req:", line),
        kv_used=number(r"(?:full )?token usage:", line),
        acceptance_length=number(r"accept len:", line),
        acceptance_rate=number(r"accept rate:", line),
    )


def _sglang_prefill(line: str) -> LogSample | None:
    return LogSample(
        kind="sglang",
        prefill_tok_s=number(r"input throughput \(token/s\):", line),
        new_tokens=_count(r"#new-token:", line),
        cached_tokens=_count(r"#cached-token:", line),
        kv_used=number(r"(?:full )?token usage:", line),
    )


def _llama_prompt(line: str) -> LogSample | None:
    tokens = re.search(r"/\s*(\d+) tokens", line)
    speed = re.search(_NUMBER + r" tokens per second", line)
    return LogSample(
        kind="llamacpp",
        prefill_tok_s=float(speed[1]) if speed else None,
        new_tokens=int(tokens[1]) if tokens else None,
    )


def _llama_decode(line: str) -> LogSample | None:
    speed = re.search(_NUMBER + r" tokens per second", line)
    return LogSample(kind="llamacpp", decode_tok_s=float(speed[1])) if speed else None


def _llama_drafts(line: str) -> LogSample | None:
    return LogSample(kind="llamacpp", acceptance_rate=number(r"draft acceptance rate =", line))


_READERS: tuple[tuple[str, Callable[[str], LogSample | None]], ...] = (
    ("Avg generation throughput:", _vllm),
    ("SpecDecoding metrics:", _vllm_drafts),
    ("eneration throughput:", _vllm_excerpt),
    ("Decode batch", _sglang_decode),
    ("Prefill batch", _sglang_prefill),
    ("prompt eval time =", _llama_prompt),
    ("eval time =", _llama_decode),
    ("draft acceptance rate =", _llama_drafts),
)
"""The words that mark a line, the more particular ones first."""
