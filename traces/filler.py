"""Text of a wanted number of tokens, for what a recording holds only as a length.

Every word is one token, with the blank before it, in the byte-pair vocabularies of common open models; a chat template
adds its own few tokens on top. Equal seeds give equal text, so that blocks with equal hashes are equal text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from replayer.traces.schema import TokenShape

WORDS = """
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point home
water room mother area money story fact month lot right study book eye job word business issue side kind
head house service friend father power hour game line end member law car city community name president
team minute idea body information back parent face others level office door health person art war history
party result change morning reason research girl guy moment air teacher force education
""".split()


def filler(seed: object, tokens: int) -> str:
    """About `tokens` tokens: exactly as many words, each with a blank before it."""
    choice = random.Random(repr(seed)).choice
    return "".join(f" {choice(WORDS)}" for _ in range(tokens))


def blocks(shape: TokenShape, tokens: int, block_size: int = 0) -> Iterator[tuple[int, int]]:
    """(seed, words) of each piece of a prompt of `tokens` words that shares blocks as the recording did.

    A `block_size` of its own, in words, keeps the last blocks where a tokenizer needs more than a token for a word.
    """
    left = tokens
    for block in shape.block_hashes or (-1,):
        size = min(left, block_size or shape.block_size)
        if size:
            yield block, size
        left -= size
    if left > 0:
        yield -2 - (shape.block_hashes[-1] if shape.block_hashes else -1), left
