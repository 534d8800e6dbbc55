"""A generated session, what a client may do to its requests, and what the signal says of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from replayer.prefix.chatml import PromptTokens
from replayer.prefix.tokenizers import Characters
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse
from replayer.traces.schema import Usage

Request = dict[str, Any]
Change = Callable[[int, Request], None]


RULES = "You are a coding agent.\n" + "Keep the style of the file you edit. " * 20
TURNS = 6


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}
    return {
        "type": "function",
        "function": {"name": name, "description": f"Use {name}.", "parameters": schema},
    }


def session(change: Change | None = None) -> list[Request]:
    """A growing conversation; `change` is what a client does to each request before sending it."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "Fix the failing test in parser.py."}]
    requests = []
    for turn in range(TURNS):
        request = {
            "messages": [{"role": "system", "content": RULES}, *copy.deepcopy(history)],
            "tools": [tool(name) for name in ("edit", "grep", "read")],
        }
        if change:
            change(turn, request)
        requests.append(request)
        arguments = orjson.dumps({"path": f"src/part_{turn}.py", "limit": 40 + turn}).decode()
        call = {
            "id": f"call_{turn}",
            "type": "function",
            "function": {"name": "read", "arguments": arguments},
        }
        thought = f"Part {turn} may hold the parser; read it."
        history += [
            {"role": "assistant", "content": None, "reasoning_content": thought, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{turn}",
                "content": f"# part {turn}\n" + "x = y + 1\n" * 30,
            },
        ]
    return requests


def judge(requests: Sequence[Request], **settings: Any) -> tuple[list[TurnReuse], list[PrefixFinding]]:
    """What the signal states where the engine reports exactly the ideal."""
    reuse = PrefixReuse(**{"block_size": 1, **settings})
    prompts = PromptTokens(Characters())
    turns, findings = [], []
    for number, request in enumerate(requests):
        messages = [orjson.dumps(message) for message in request["messages"]]
        segments = prompts.prompt(messages, orjson.dumps(request["tools"]))
        turns.append(reuse.request(str(number), segments, messages, request["tools"]))
        findings.append(reuse.reported(str(number), Usage(cached_tokens=turns[-1].ideal)))
    return turns, findings
