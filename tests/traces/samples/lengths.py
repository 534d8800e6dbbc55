"""Traces of lengths without text."""

from __future__ import annotations

from typing import Any


def kv_cache() -> dict[str, Any]:
    def one(t: float, tokens: int, hashes: list[int], **more: Any) -> dict[str, Any]:
        return {
            "t": t,
            "type": "s",
            "model": "m",
            "in": tokens,
            "out": 20,
            "hash_ids": hashes,
            "stop": "tool_use",
            **more,
        }

    sub = {
        "t": 2.0,
        "type": "subagent",
        "agent_id": "agent_001",
        "requests": [one(0.0, 70, [9]), one(1.0, 140, [9, 10])],
    }
    requests = [one(0.0, 130, [1, 2], ttft=0.4, api_time=1.5), sub, one(5.0, 200, [1, 2, 3])]
    return {
        "id": "trace_1",
        "models": ["m"],
        "block_size": 64,
        "hash_id_scope": "local",
        "requests": requests,
    }


MOONCAKE = [
    {"timestamp": 0, "input_length": 1100, "output_length": 50, "hash_ids": [0, 1, 2]},
    {"timestamp": 1000, "input_length": 700, "output_length": 5, "hash_ids": [0, 7]},
    {"timestamp": 2000, "input_length": 1700, "output_length": 50, "hash_ids": [0, 1, 8, 9]},
]
