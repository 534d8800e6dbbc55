"""Prompts of an exact number of tokens: filler text is cut and padded until the engine itself counts as many."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from replayer.lazy import dataclass

TRIES = 10
_CLOSE = 4
"""A gap of fewer tokens is closed with pads, which are smaller than words in any tokenizer."""

PAD = " a"
"""One token in the byte-pair vocabularies of common open models, as the words of the filler are."""


@dataclass(frozen=True, slots=True)
class Length:
    """Filler of `words` words and `pads` pads. `block` is the words of a whole block; 0 is the trace's own block size,
    which holds where a word is a token."""

    words: int
    pads: int = 0
    block: int = 0


Count = Callable[[Length], Awaitable[int | None]]
"""Tokens of the whole prompt with filler of a length, chat template included; None where nobody can tell."""


async def fit(count: Count, wanted: int, guess: Length) -> Length | None:
    """The filler with which the prompt has `wanted` tokens, or the nearest that was found; None where nobody counts.

    A word of the filler is about a token, so that the second count is mostly the last.
    """
    nearest, gap = None, wanted
    for _ in range(TRIES):
        tokens = await count(guess)
        if tokens is None:
            break
        if nearest is None or abs(wanted - tokens) < abs(gap):
            nearest, gap = guess, wanted - tokens
        if tokens == wanted:
            break
        guess = _closer(guess, tokens, wanted)
    return nearest


def _closer(tried: Length, tokens: int, wanted: int) -> Length:
    missing = wanted - tokens
    if 0 < missing < _CLOSE:
        return replace(tried, pads=tried.pads + missing)
    if tried.pads and missing < 0:
        return replace(tried, pads=0)
    return replace(tried, words=max(1, tried.words + missing * tried.words // max(tokens, tried.words)))
