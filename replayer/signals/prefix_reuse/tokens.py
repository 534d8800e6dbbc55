"""Prompts as packed tokens: four bytes each, so that comparing and storing them runs at memory speed; and how many
of a prompt a prefix cache could at best have served."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import cast

from replayer.text import shared_start

WIDTH = 4
_UTF32 = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"

Segment = bytes
"""Packed tokens of one piece of a prompt, usually one rendered message. Shared history shares the object."""

Prompt = str | Sequence[int] | Sequence[Segment] | Segment
"""Text (each character a token), token ids, packed tokens, or packed tokens in segments."""


def pack(ids: Iterable[int]) -> Segment:
    return array("I", ids).tobytes()


def pack_characters(text: str) -> Segment:
    return text.encode(_UTF32, "surrogatepass")


def unpack(segment: Segment) -> list[int]:
    return array("I", segment).tolist()


def count(segments: Iterable[Segment]) -> int:
    return sum(map(len, segments)) // WIDTH


def segments_of(prompt: Prompt) -> tuple[Segment, ...]:
    if isinstance(prompt, str):
        return (pack_characters(prompt),)
    if isinstance(prompt, bytes):
        return (prompt,)
    if len(prompt) and isinstance(prompt[0], bytes):
        return tuple(cast(Sequence[bytes], prompt))
    return (pack(token for token in prompt if isinstance(token, int)),)


def common(a: bytes, b: bytes) -> int:
    """Tokens in the common prefix."""
    return shared_start(a, b) // WIDTH


def ideal_reuse(
    shared: int, prompt_tokens: int, block_size: int = 1, *, speculative_backoff: bool = False
) -> int:
    """Tokens of the longest shared prefix that a paged cache can reuse.

    Whole blocks only, and never the whole prompt, because the last token must be computed to get logits
    (vLLM `max_cache_hit_length = num_tokens - 1`; captured: 3632 of 3646 at block 16, 3693 of 3694 at page 1).
    With EAGLE or MTP speculation vLLM drops the last matched block, whose hidden states the drafter needs
    (vLLM #52897).
    """
    blocks = max(0, min(shared, prompt_tokens - 1)) // block_size
    if speculative_backoff:
        blocks = max(0, blocks - 1)
    return blocks * block_size


_TAIL_TOKENS = 8
_TAIL_CHARACTERS = 48


def template_tail(token_source: str) -> int:
    """Tokens at the end of a prompt that may differ when it is continued: generation prompt and empty `<think>`."""
    return _TAIL_CHARACTERS if token_source == "characters" else _TAIL_TOKENS
