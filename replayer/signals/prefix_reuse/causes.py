"""The closed list of reasons why a request reuses less of the cache than it could."""

from __future__ import annotations

from typing import Literal

Cause = Literal[
    "clock_or_date",
    "random_id_or_hash",
    "attribution_header",
    "cache_marks_moved",
    "tool_list",
    "system_prompt_edited",
    "message_dropped",
    "message_rewritten",
    "arguments_reserialised",
    "reasoning_stripped",
    "retokenisation",
    "block_granularity",
    "eviction",
    "cache_off",
    "not_reported",
    "counter_broken",
    "unknown",
]

LEAST_SHARE = 0.005
"""Share of all prompt tokens below which a loss is not worth a cause: it lies within what counters round."""

PHRASES: dict[str, str] = {
    "clock_or_date": "a date or time",
    "random_id_or_hash": "a random id or hash",
    "attribution_header": "Claude Code's attribution header (cch) changes with every request",
    "cache_marks_moved": "cache_control marks moved",
    "tool_list": "the tool list changed",
    "system_prompt_edited": "the system prompt was edited",
    "message_dropped": "messages were dropped or pruned",
    "message_rewritten": "a message was rewritten",
    "arguments_reserialised": "tool-call arguments were serialised anew",
    "reasoning_stripped": "reasoning was stripped from an earlier message",
    "retokenisation": "same text, different tokens",
    "block_granularity": "the shared prefix does not fill the engine's blocks",
    "eviction": "the blocks were evicted before they were needed again",
    "cache_off": "the prefix cache is off",
    "not_reported": "the engine does not report cached tokens",
    "counter_broken": "the engine miscounts cached tokens",
    "unknown": "the cause is unknown",
}

FIXES: dict[str, str] = {
    "clock_or_date": "move it behind the conversation, or drop the part that changes",
    "random_id_or_hash": "keep it stable for the session, or move it behind the conversation",
    "attribution_header": "set CLAUDE_CODE_ATTRIBUTION_HEADER=0, or replay with the dialect claude-code:attribution=off",
    "cache_marks_moved": "take cache_control out of the messages at the gateway; in a replay, claude-code:cache=off",
    "tool_list": "send the same tools in the same order with every request",
    "system_prompt_edited": "keep the system prompt fixed and put what changes into the newest message",
    "message_dropped": "prune seldom and in large turns, so that the prefix stays the same in between",
    "message_rewritten": "leave sent messages as they are and append instead",
    "arguments_reserialised": "send back the argument text exactly as the model wrote it",
    "reasoning_stripped": "send the reasoning back, or use a template that keeps it",
    "retokenisation": "send back token ids or the exact text that the model produced",
    "block_granularity": "use a smaller block size, or a longer stable prefix",
    "eviction": "enlarge the KV pool (more memory, a smaller KV type) or run fewer sessions at a time",
    "cache_off": "turn prefix caching on at the engine",
    "not_reported": "vLLM: --enable-prompt-tokens-details; SGLang: --enable-cache-report",
    "counter_broken": "trust the server's own counters and the time to first token, and update the engine",
}
"""Only for causes that are certain once they are named."""
