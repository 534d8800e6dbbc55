"""How many prompt tokens a prefix cache could at best have served."""

from __future__ import annotations


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
