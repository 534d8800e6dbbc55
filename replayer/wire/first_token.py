"""When an engine had its first token, where its parser held that back.

A parser shows nothing of a call before its name is known: 5 to 40 tokens of markup that no delta has, and text that might
be markup waits too. The time to the first delta then holds decoding, and the time after it too few tokens. llama.cpp,
vLLM and SGLang send the chunk that opens the stream with their first token. Decode speeds from there, beside the
engine's own: llama.cpp 27.07 and 27.07 tok/s (30.3 from the first delta), vLLM 0.21 with nothing but calls 152 and 157
(188), SGLang 0.5.12 56.6 and 56.3 (52.9).
"""

from __future__ import annotations

from math import inf


def first_generated(
    began: int | None, first: int | None, ended: int, *, deltas: int, tokens: int | None, call_first: bool
) -> int | None:
    """The time of the first chunk, where what passed until the `first` of the deltas went into tokens that no delta shows,
    at the pace of those that are shown; else that of the first delta, or None where a call came first.

    A chunk that came earlier than such tokens explain came before prefill. Nanoseconds of one clock.
    """
    otherwise = None if call_first else first
    if began is None or first is None or not tokens or tokens < deltas or (deltas < 2 and not call_first):
        return otherwise
    hidden = (tokens - deltas + 1) * (ended - first) / (deltas - 1) if deltas > 1 else inf
    return began if first - began <= hidden else otherwise
