"""llama-server's log lines: the timings of each request, and its slots at the start."""

from __future__ import annotations

import re

from replayer.engines.logs.patterns import LogPatterns, LogSample, LogSettings, integer, number

_SPEED = re.compile(r"([0-9][0-9.]*) tokens per second")


def _speed(line: str) -> float | None:
    found = _SPEED.search(line)
    return float(found[1]) if found else None


def _prompt(line: str) -> LogSample:
    return LogSample(prefill_tok_s=_speed(line), new_tokens=integer(r"ms /", line))


def _decode(line: str) -> LogSample | None:
    speed = _speed(line)
    return LogSample(decode_tok_s=speed) if speed is not None else None


def _drafts(line: str) -> LogSample:
    found = re.search(r"\(\s*(\d+) accepted /\s*(\d+) generated\)", line)
    return LogSample(
        acceptance_rate=number(r"draft acceptance rate =", line),
        accepted=int(found[1]) if found else None,
        drafted=int(found[2]) if found else None,
    )


def _slots(settings: LogSettings, line: str) -> None:
    slots, context = integer(r"n_slots =", line), integer(r"n_ctx_slot =", line)
    if slots is not None and context is not None:
        settings.effective |= {"slots": slots, "context_length": context}
        settings.kv_pool_tokens = slots * context


LOG = LogPatterns(
    samples=(
        ("prompt eval time =", _prompt),
        ("eval time =", _decode),
        ("draft acceptance rate =", _drafts),
    ),
    settings=(("n_ctx_slot =", _slots),),
)
