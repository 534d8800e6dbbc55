"""Sampling fields that several kinds of engines know, and what may stand in a field.

From the engines' own request models: vLLM's ChatCompletionRequest (0.21 to 0.32), SGLang's (0.5), llama.cpp's server
README, TensorRT-LLM's openai_protocol. A field that a kind does not know is silently ignored by most servers, which
is why it is rejected here by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from replayer.engines.base import Sampling
from replayer.text import similar


def fields(**names: str) -> dict[str, tuple[str, ...]]:
    """`number="temperature top_p"`: JSON type -> names. A field of several types is named under each."""
    found: dict[str, tuple[str, ...]] = {}
    for kind, words in names.items():
        for name in words.split():
            found[name] = (*found.get(name, ()), kind)
    return found


STANDARD = fields(
    number="temperature top_p frequency_penalty presence_penalty",
    integer="seed max_tokens max_completion_tokens top_logprobs n",
    boolean="logprobs parallel_tool_calls",
    string="stop tool_choice reasoning_effort user",
    array="stop",
    object="logit_bias tool_choice response_format",
)
"""Fields of OpenAI's own API, which all kinds take."""

SERVERS = STANDARD | fields(
    number="min_p repetition_penalty",
    integer="top_k min_tokens",
    boolean="ignore_eos skip_special_tokens",
    string="cache_salt",
    array="stop_token_ids",
    object="chat_template_kwargs",
)
"""What vLLM, SGLang and TensorRT-LLM have in common."""

LLAMA = STANDARD | fields(
    number=(
        "min_p typical_p repeat_penalty dynatemp_range dynatemp_exponent xtc_probability xtc_threshold "
        "dry_multiplier dry_base mirostat_tau mirostat_eta top_n_sigma"
    ),
    integer="top_k repeat_last_n dry_allowed_length dry_penalty_last_n mirostat n_predict n_probs id_slot",
    boolean="ignore_eos cache_prompt timings_per_token return_progress",
    string="grammar reasoning_format",
    array="dry_sequence_breakers samplers",
    object="chat_template_kwargs",
)
"""What llama.cpp and ik_llama.cpp have in common."""

SYNONYMS = {
    "repeat_penalty": "repetition_penalty",
    "repetition_penalty": "repeat_penalty",
    "n_predict": "max_tokens",
}


def unknown_fields(sampling: Iterable[str], known: Iterable[str]) -> list[tuple[str, str | None]]:
    """Each field that is not known, with the nearest known one."""
    names = {name: name for name in sorted(known)}
    unknown = (name for name in sampling if name not in names)
    return [(name, names.get(SYNONYMS.get(name, "")) or similar(name, names)) for name in unknown]


def wrong_types(sampling: Mapping[str, object], known: Sampling) -> list[tuple[str, tuple[str, ...]]]:
    """Known fields whose value has another JSON type than the engine takes: (name, types)."""
    return [
        (name, known[name])
        for name, value in sampling.items()
        if name in known and not _fits(value, known[name])
    ]


_JSON_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    ((list, tuple), "array"),
    (dict, "object"),
)


def _fits(value: object, types: tuple[str, ...]) -> bool:
    name = next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")
    return name in types or (name == "integer" and "number" in types)
