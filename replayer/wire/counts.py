"""Token counts out of a usage object, by the names that engines and gateways give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count(value: Any) -> int | None:
    """A whole number of at least 0, also where it is written `12.0`; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def cached_tokens(usage: Mapping[str, Any]) -> int | None:
    """OpenAI's `prompt_tokens_details.cached_tokens`; DeepSeek and Moonshot put theirs beside `prompt_tokens`."""
    details = usage.get("prompt_tokens_details")
    told = (
        details.get("cached_tokens") if isinstance(details, Mapping) else None,
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return next((found for value in told if (found := count(value)) is not None), None)
