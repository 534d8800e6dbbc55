"""Token counts out of a usage object, by the names that engines and gateways give them."""

from __future__ import annotations

from collections.abc import Mapping

from replayer.wire.types import JsonObject

_MOST = 1 << 31
"""No reply and no pool has more; sums of what lies below can be written as JSON."""


def count(value: object) -> int | None:
    """A whole number from 0 to `_MOST`, also where it is written `12.0`; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "cached_tokens")
_CACHE_COUNTS = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_DETAILS = (
    "prompt_tokens_details",
    "input_tokens_details",
    "completion_tokens_details",
    "output_tokens_details",
)


def unreadable(usage: object) -> str | None:
    """The first count of a usage object that cannot be: negative or of another type (it is taken for "not reported",
    which must not happen in silence), or a total below its parts; as `name`: value. None without one."""
    if not isinstance(usage, Mapping):
        return None
    groups = ((group, value) for group in _DETAILS if isinstance(value := usage.get(group), Mapping))
    details = ((f"{group}.cached_tokens", value.get("cached_tokens")) for group, value in groups)
    stated = (*((name, usage.get(name)) for name in (*_COUNTS, *_CACHE_COUNTS)), *details)
    wrong = [
        f"`{name}`: {value!r:.40}" for name, value in stated if value is not None and count(value) is None
    ]
    total = count(usage.get("total_tokens"))
    prompt, output, read, written = (count(usage.get(name)) or 0 for name in _COUNTS[:4])
    if total and total < max(prompt, read) + max(output, written):
        wrong.append(f"`total_tokens`: {total}, less than its parts")
    return wrong[0] if wrong else None


def speed(value: object) -> float | None:
    """Tokens/s, above 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 < value <= _MOST else None


def cached_tokens(usage: Mapping[str, object]) -> int | None:
    """OpenAI's `prompt_tokens_details.cached_tokens`; DeepSeek and Moonshot put theirs beside `prompt_tokens`."""
    candidates = (
        _detail(usage, "prompt_tokens_details", "cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return next((found for value in candidates if (found := count(value)) is not None), None)


def of_messages(usage: Mapping[str, object], ended: bool) -> JsonObject | None:
    """A usage object of Messages by chat's names; None where it reports nothing.

    Anthropic leaves cached tokens out of `input_tokens`, and so does llama.cpp; both name them beside it. vLLM 0.21
    and SGLang 0.5 include them and have no field for them: the cached count is then unknown. `ended`: the last event
    with counts has come; before it the output is not known, and an input of 0 is SGLang's way to say nothing yet.
    """
    read, written = (
        count(usage.get("cache_read_input_tokens")),
        count(usage.get("cache_creation_input_tokens")),
    )
    given = count(usage.get("input_tokens"))
    prompt = None if given is None else given + (read or 0) + (written or 0)
    output = count(usage.get("output_tokens")) if ended else None
    thinking = _detail(usage, "output_tokens_details", "thinking_tokens")
    return _chat_usage(prompt, output, read, written, count(thinking))


def of_responses(usage: Mapping[str, object]) -> JsonObject | None:
    """A usage object of Responses by chat's names; None where it reports nothing. SGLang 0.5.12 uses chat's names
    where the reply was not streamed, and zeros everywhere."""
    prompt = count(usage.get("input_tokens", usage.get("prompt_tokens")))
    output = count(usage.get("output_tokens", usage.get("completion_tokens")))
    cached = count(_detail(usage, "input_tokens_details", "cached_tokens"))
    written = count(_detail(usage, "input_tokens_details", "cache_write_tokens"))
    reasoning = count(_detail(usage, "output_tokens_details", "reasoning_tokens"))
    return _chat_usage(prompt, output, cached, written, reasoning)


def _chat_usage(
    prompt: int | None, output: int | None, cached: int | None, written: int | None, reasoning: int | None
) -> JsonObject | None:
    """No prompt has 0 tokens: a usage that says so reports nothing."""
    if not prompt:
        return None
    usage: JsonObject = {"prompt_tokens": prompt}
    if output is not None:
        usage |= {"completion_tokens": output, "total_tokens": prompt + output}
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    if given := {key: value for key, value in details.items() if value is not None}:
        usage["prompt_tokens_details"] = given
    if reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


def _detail(usage: Mapping[str, object], group: str, key: str) -> object:
    details = usage.get(group)
    return details.get(key) if isinstance(details, Mapping) else None
