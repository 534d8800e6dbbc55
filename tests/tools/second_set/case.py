"""One exchange with its label, and how it is written as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.tools import exchanges

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`fatal` maps the class of each expected fatal fault to its blame; `warnings` are the classes that must come
    without being fatal, `allowed` those that may. A case without `fatal` is usable."""

    name: str
    response: bytes
    request: Json
    fatal: dict[str, str] = field(default_factory=dict)
    warnings: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    sound: bool = False

    def mistake(self, document: Json) -> str | None:
        """How the judgement differs from the label; None where it does not."""
        fatal = {(fault["class"], fault["blame"]) for fault in document["faults"] if fault["fatal"]}
        warnings = {fault["class"] for fault in document["faults"] if not fault["fatal"]}
        if fatal != set(self.fatal.items()):
            return f"{self.name}: {sorted(fatal)} instead of {sorted(self.fatal.items())}"
        if not self.warnings <= warnings <= self.warnings | self.allowed:
            return f"{self.name}: warnings {sorted(warnings)} instead of {sorted(self.warnings)}"
        if document["usable"] is bool(self.fatal):
            return f"{self.name}: usable is {document['usable']}"
        return None


def both(
    name: str,
    content: str = "",
    *calls: tuple[str, str],
    finish: str | None = None,
    tokens: int = 40,
    reasoning: str = "",
    request: Json | None = None,
    **label: Any,
) -> Iterator[Case]:
    """The reply streamed and as one body."""
    reply: Json = {
        "content": content,
        "reasoning": reasoning,
        "tool_calls": [
            {"id": f"call_{number}a", "name": of, "arguments": arguments}
            for number, (of, arguments) in enumerate(calls)
        ],
        "finish_reason": finish or ("tool_calls" if calls else "stop"),
        "completion_tokens": tokens,
    }
    asked = exchanges.request({"request": request or {}})
    yield Case(f"{name}-stream", exchanges.streamed(reply), {**asked, "stream": True}, **label)
    yield Case(f"{name}-whole", exchanges.whole(reply), asked, **label)


def stream(name: str, *deltas: Json, finish: str | None = "stop", done: bool = True, **label: Any) -> Case:
    """A stream of exactly these deltas."""
    request = exchanges.request({"request": label.pop("request", {})})
    choices: list[Json] = [{"delta": delta, "finish_reason": None} for delta in deltas]
    if finish is not None:
        choices.append({"delta": {}, "finish_reason": finish})
    choices += label.pop("after", [])
    return Case(name, exchanges.sse(choices, done=done), {**request, "stream": True}, **label)


def body(name: str, document: Any, **label: Any) -> Case:
    """A body that is not streamed, as it came."""
    request = exchanges.request({"request": label.pop("request", {})})
    return Case(name, json.dumps(document).encode(), request, **label)


def parser(**more: Any) -> Json:
    """The label of a call that the parser left in the text."""
    return {"fatal": {"leaked_markup": "parser"}, **more}


def model(**more: Any) -> Json:
    """The label of a call left in the text that no parser could have delivered."""
    return {"fatal": {"leaked_markup": "model"}, **more}


def warn(*classes: str, **more: Any) -> Json:
    """The label of a usable reply with warnings."""
    return {"warnings": frozenset(classes), **more}


WARNED_LEAK = frozenset({"leaked_markup"})
