"""Which sampling fields each kind of engine knows, as data, and what may stand in them.

From the engines' own request models: vLLM's ChatCompletionRequest (0.21 to 0.32), SGLang's (0.5), llama.cpp's server
README, TensorRT-LLM's openai_protocol. A field that a kind does not know is silently ignored by most servers, which
is why it is refused here by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from replayer.engines.base import EngineKind

NUMBER = ("number",)
INTEGER = ("integer",)
BOOLEAN = ("boolean",)
ANY = ("string", "number", "integer", "boolean", "array", "object", "null")

STANDARD: dict[str, tuple[str, ...]] = {
    "temperature": NUMBER,
    "top_p": NUMBER,
    "frequency_penalty": NUMBER,
    "presence_penalty": NUMBER,
    "seed": INTEGER,
    "stop": ("string", "array"),
    "max_tokens": INTEGER,
    "max_completion_tokens": INTEGER,
    "logit_bias": ("object",),
    "logprobs": BOOLEAN,
    "top_logprobs": INTEGER,
    "n": INTEGER,
    "parallel_tool_calls": BOOLEAN,
    "tool_choice": ("string", "object"),
    "reasoning_effort": ("string",),
    "response_format": ("object",),
    "user": ("string",),
}
"""Fields of OpenAI's own API, which all kinds take."""

_SERVERS: dict[str, tuple[str, ...]] = {
    "top_k": INTEGER,
    "min_p": NUMBER,
    "repetition_penalty": NUMBER,
    "ignore_eos": BOOLEAN,
    "skip_special_tokens": BOOLEAN,
    "stop_token_ids": ("array",),
    "chat_template_kwargs": ("object",),
}
"""What vLLM, SGLang and TensorRT-LLM have in common."""

_LLAMACPP: dict[str, tuple[str, ...]] = {
    "top_k": INTEGER,
    "min_p": NUMBER,
    "typical_p": NUMBER,
    "repeat_penalty": NUMBER,
    "repeat_last_n": INTEGER,
    "dynatemp_range": NUMBER,
    "dynatemp_exponent": NUMBER,
    "xtc_probability": NUMBER,
    "xtc_threshold": NUMBER,
    "dry_multiplier": NUMBER,
    "dry_base": NUMBER,
    "dry_allowed_length": INTEGER,
    "dry_penalty_last_n": INTEGER,
    "dry_sequence_breakers": ("array",),
    "mirostat": INTEGER,
    "mirostat_tau": NUMBER,
    "mirostat_eta": NUMBER,
    "n_predict": INTEGER,
    "n_probs": INTEGER,
    "samplers": ("array",),
    "grammar": ("string",),
    "ignore_eos": BOOLEAN,
    "cache_prompt": BOOLEAN,
    "id_slot": INTEGER,
    "chat_template_kwargs": ("object",),
    "reasoning_format": ("string",),
    "timings_per_token": BOOLEAN,
    "return_progress": BOOLEAN,
}

FIELDS: dict[EngineKind, dict[str, tuple[str, ...]]] = {
    "vllm": STANDARD
    | _SERVERS
    | {
        "min_tokens": INTEGER,
        "length_penalty": NUMBER,
        "allowed_token_ids": ("array",),
        "bad_words": ("array",),
        "include_stop_str_in_output": BOOLEAN,
        "truncate_prompt_tokens": INTEGER,
        "repetition_detection": ("object",),
        "return_token_ids": BOOLEAN,
        "cache_salt": ("string",),
        "priority": INTEGER,
        "structured_outputs": ("object",),
        "include_reasoning": BOOLEAN,
        "vllm_xargs": ("object",),
    },
    "sglang": STANDARD
    | _SERVERS
    | {
        "min_tokens": INTEGER,
        "regex": ("string",),
        "ebnf": ("string",),
        "no_stop_trim": BOOLEAN,
        "stop_regex": ("string", "array"),
        "separate_reasoning": BOOLEAN,
        "stream_reasoning": BOOLEAN,
        "custom_params": ("object",),
        "cache_salt": ("string",),
        "extra_key": ("string",),
        "priority": INTEGER,
        "lora_path": ("string",),
    },
    "trtllm": STANDARD
    | _SERVERS
    | {
        "min_tokens": INTEGER,
        "top_p_min": NUMBER,
        "length_penalty": NUMBER,
        "early_stopping": BOOLEAN,
        "include_stop_str_in_output": BOOLEAN,
        "truncate_prompt_tokens": INTEGER,
        "lora_request": ("object",),
        "cache_salt": ("string",),
    },
    "llamacpp": STANDARD
    | _LLAMACPP
    | {"top_n_sigma": NUMBER, "adaptive_target": NUMBER, "adaptive_decay": NUMBER},
    "ik_llama": STANDARD | _LLAMACPP | {"tfs_z": NUMBER, "top_n_sigma": NUMBER, "penalize_nl": BOOLEAN},
}
"""kind -> field -> JSON types. `openai` is missing: such a server does not say what it knows."""

SYNONYMS = {
    "repeat_penalty": "repetition_penalty",
    "repetition_penalty": "repeat_penalty",
    "n_predict": "max_tokens",
}


def sampling_fields(kind: EngineKind) -> frozenset[str] | None:
    """None where the kind does not tell."""
    return frozenset(FIELDS[kind]) if kind in FIELDS else None


def unknown_fields(sampling: Iterable[str], known: frozenset[str]) -> list[tuple[str, str | None]]:
    """Each field that is not known, with the nearest known one."""
    return [(name, nearest_field(name, known)) for name in sampling if name not in known]


def nearest_field(name: str, known: Iterable[str]) -> str | None:
    names = set(known)
    if SYNONYMS.get(name) in names:
        return SYNONYMS[name]
    near = get_close_matches(name, sorted(names), n=1)
    return near[0] if near else None


def wrong_types(sampling: Mapping[str, Any], kind: EngineKind) -> list[tuple[str, tuple[str, ...]]]:
    """Known fields whose value has another JSON type than the engine takes: (name, types)."""
    fields = FIELDS.get(kind, {})
    return [
        (name, fields[name])
        for name, value in sampling.items()
        if name in fields and not _fits(value, fields[name])
    ]


def _fits(value: Any, types: tuple[str, ...]) -> bool:
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, int):
        return "integer" in types or "number" in types
    names = {
        float: "number",
        str: "string",
        list: "array",
        tuple: "array",
        dict: "object",
        type(None): "null",
    }
    return names.get(type(value), "") in types
