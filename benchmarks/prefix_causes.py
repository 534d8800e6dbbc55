"""Each cause of lost prefix reuse that llama.cpp can show, shown once on the real embedded engine.

    python benchmarks/prefix_causes.py

A short session is sent turn by turn; one client habit or engine setting at a time breaks it at the last turn. The table
gives the cause that the signal names, the ideal and the reported reuse of that turn, and what it cost in prefill
beside the healthy session. Tokens are the engine's own (`/apply-template`, `/tokenize`). Takes about two minutes.
"""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from replayer.engines.embedded import llama_server as embedded
from replayer.engines.llamacpp.adapter import LlamaCppEngine
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.finding import PrefixFinding

Request = dict[str, Any]

FORGETFUL = (
    (embedded.chat_template("tools") or "")
    .replace(
        "{%- for m in messages -%}",
        "{%- set ns = namespace(last=0) -%}{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}"
        "{%- endif -%}{%- endfor -%}{%- for m in messages -%}",
    )
    .replace(
        "{{- '<|im_start|>assistant' -}}\n{%- if m.content",
        "{{- '<|im_start|>assistant' -}}\n{%- if m.reasoning_content and loop.index0 > ns.last -%}"
        "{{- '\\n<think>\\n' ~ m.reasoning_content ~ '\\n</think>' -}}{%- endif -%}\n{%- if m.content",
    )
)
"""Our template, made to forget the reasoning of turns before the last user message, as Qwen3's does."""


def session(last_user: bool = False) -> list[Request]:
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": f"{name} a file", "parameters": {"type": "object"}},
        }
        for name in ("edit", "grep", "read")
    ]
    messages: list[dict[str, Any]] = [
        {
            "role": "system",
            "content": "You are a coding agent. It is 09:00. Read a file before you edit it. " * 2,
        },
        {"role": "user", "content": "Fix the failing test in parser.py, please."},
    ]
    requests = []
    for turn in range(4):
        requests.append({"messages": copy.deepcopy(messages), "tools": tools})
        arguments = json.dumps({"path": f"src/part_{turn}.py", "limit": 20})
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "read", "arguments": arguments},
        }
        thought = f"The fault may be in part {turn}, where the parser reads its tokens one by one."
        messages.append(
            {"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": [call]}
        )
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"call_{turn}",
                "content": f"def part_{turn}(x):\n    return x + {turn}\n" * 5,
            }
        )
        if last_user and turn == 2:
            messages.append({"role": "user", "content": "Now run the tests."})
    return requests


def clock(request: Request) -> None:
    system = request["messages"][0]
    system["content"] = system["content"].replace("09:00", "09:31", 1)


def tool_order(request: Request) -> None:
    request["tools"] = request["tools"][::-1]


def pruned(request: Request) -> None:
    request["messages"][3]["content"] = "[old tool result cleared]"


def reserialised(request: Request) -> None:
    """Another key order; other spacing costs nothing here, for llama.cpp parses the arguments and writes them anew."""
    function = request["messages"][2]["tool_calls"][0]["function"]
    function["arguments"] = json.dumps(json.loads(function["arguments"]), sort_keys=True)


def dropped(request: Request) -> None:
    del request["messages"][2:4]


def nothing(request: Request) -> None:
    return None


@dataclass(frozen=True)
class Case:
    name: str
    change: Callable[[Request], None] = nothing
    fields: dict[str, Any] = field(default_factory=dict)
    last_fields: dict[str, Any] = field(default_factory=dict)
    last_user: bool = False
    block_size: int = 1


CASES = [
    Case("healthy"),
    Case("clock in the system prompt", clock),
    Case("tools in another order", tool_order),
    Case("old tool result pruned", pruned),
    Case("arguments re-serialised", reserialised),
    Case("messages dropped", dropped),
    Case("  … with chunk reuse from 16 tokens", dropped, last_fields={"n_cache_reuse": 16}),
    Case("  … with chunk reuse from 512 tokens", dropped, last_fields={"n_cache_reuse": 512}),
    Case("cache off (cache_prompt: false)", fields={"cache_prompt": False}),
]
TEMPLATE = Case("reasoning dropped by the template", last_user=True)


async def run(engine: LlamaCppEngine, case: Case) -> tuple[PrefixFinding, float]:
    """The finding of the last turn and its prefill in milliseconds."""
    await engine.reset_cache()
    reuse = PrefixReuse(block_size=case.block_size)
    requests = session(case.last_user)
    case.change(requests[-1])
    for number, request in enumerate(requests):
        tokens = await engine.tokenize(request["messages"], request["tools"])
        assert tokens is not None
        reuse.request(str(number), tokens, request["messages"], request["tools"])
        extra = case.fields | (case.last_fields if number == len(requests) - 1 else {})
        body = {**request, "temperature": 0, "max_tokens": 1, **extra}
        reply = await engine.http.post(f"{engine.base_url}/chat/completions", json=body)
        answer = reply.raise_for_status().json()
        found = reuse.reported(str(number), engine.usage(answer["usage"], answer))
    return found, answer["timings"]["prompt_ms"]


async def table(options: dict[str, Any], cases: list[Case]) -> None:
    server = await embedded.launch({"ctx": 4096, **options})
    async with httpx.AsyncClient(timeout=300) as http:
        engine = LlamaCppEngine(server.base_url, http)
        for case in cases:
            found, prefill = await run(engine, case)
            where = f"{found.path}:{found.offset}" if found.path else ""
            print(
                f"| {case.name} | {found.cause or '–'} | {where or '–'} | {found.prompt_tokens} | {found.ideal_tokens} | "
                f"{found.reported_tokens} | {found.lost_tokens} | {prefill:.0f} |",
                flush=True,
            )
    await server.stop()


async def main() -> None:
    print(
        "| what happens at the last turn | cause named | where | prompt | ideal | reported | lost tokens | prefill ms |"
    )
    print("|---|---|---|---|---|---|---|---|")
    await table({}, CASES)
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder, "forgetful.jinja")
        template.write_text(FORGETFUL, "utf-8")
        await table({"chat_template": str(template)}, [TEMPLATE])


if __name__ == "__main__":
    asyncio.run(main())
