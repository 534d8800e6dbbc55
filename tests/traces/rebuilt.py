"""How well an import rebuilds the prompts of a recording, held against what the recording itself says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from replayer.requests.history import RecordedHistory
from replayer.traces.reader import Trace
from replayer.traces.tally import text_size

Figure = tuple[str, int, int] | None
"""`equal`: prompts that are the source's own, of all; `within 10 %`: prompts whose tokens can be computed within 10 % from
the prompt before and the characters added since, of all but the first; None where the source says nothing of them."""
Prompt = list[tuple[str, str]]


def figure(path: Path, traces: Sequence[Trace]) -> Figure:
    """The figure of a file for the table, from its own prompts or else from its own token counts."""
    source = PROMPTS.get(path.parent.name)
    if source is not None and (said := source(path)):
        if isinstance(said[0], int):
            found: list[Any] = [turn.tokens and turn.tokens.input_tokens for t in traces for turn in t.turns]
        else:
            found = [prompt for trace in traces for prompt in _rebuilt(trace)]
        return "equal", len([prompt for prompt in found if _take(said, prompt)]), len(found)
    steps = [step for trace in traces for step in _growth(trace)]
    return ("within 10 %", sum(error <= 0.1 for error in steps), len(steps)) if steps else None


def _take(said: list[Any], prompt: Any) -> bool:
    if prompt in said:
        said.remove(prompt)
        return True
    return False


def _rebuilt(trace: Trace) -> list[Prompt]:
    return [
        [(message["role"], _text(message.get("content"))) for message in history.messages(turn)]
        for thread in dict.fromkeys(turn.thread for turn in trace.turns)
        for history in [RecordedHistory(trace, thread=thread)]
        for turn in history.turns
    ]


def _growth(trace: Trace) -> list[float]:
    """Relative errors of the tokens of each prompt, computed from the prompt before it in its thread."""
    pairs: list[tuple[int, int, int]] = []
    before: dict[str, tuple[int, int]] = {}
    for turn in trace.turns:
        if turn.usage is None or not turn.usage.prompt_tokens:
            continue
        size = sum(text_size(trace.item(item)) for item in trace.context(turn.id))
        tokens = turn.usage.prompt_tokens
        if turn.thread in before:
            chars, was = before[turn.thread]
            pairs.append((size - chars, tokens - was, tokens))
        before[turn.thread] = size, tokens
    ratios = sorted(chars / tokens for chars, tokens, _ in pairs if chars > 0 and tokens > 0)
    ratio = ratios[len(ratios) // 2] if ratios else 4.0
    return [abs(chars / ratio - grown) / tokens for chars, grown, tokens in pairs]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _mini_swe_agent(path: Path) -> list[Prompt]:
    document = json.loads(path.read_text())
    messages = [
        (m["role"], _text(m["content"]))
        for m in (document if isinstance(document, list) else document["messages"])
    ]
    return [messages[:n] for n, (role, _) in enumerate(messages) if role == "assistant"]


def _otel(path: Path) -> list[Prompt]:
    found = []
    for span in json.loads(path.read_text())["spans"]:
        text = span["attributes"].get("gen_ai.input.messages")
        if text is not None:
            found.append([(m["role"], _text(m["content"])) for m in json.loads(text)])
    return found


def _swe_agent(path: Path) -> list[Prompt]:
    steps = [
        step.get("query") or step.get("messages") or [{}]
        for step in json.loads(path.read_text())["trajectory"]
    ]
    return [[(m["role"], _text(m["content"])) for m in query] for query in steps if all(query)]


def _kv_cache(path: Path) -> list[int]:
    def lengths(requests: list[Any]) -> list[int]:
        return [
            n for r in requests for n in (lengths(r["requests"]) if r["type"] == "subagent" else [r["in"]])
        ]

    return lengths(json.loads(path.read_text())["requests"])


def _mooncake(path: Path) -> list[int]:
    return [json.loads(line)["input_length"] for line in path.read_text().splitlines() if line.strip()]


PROMPTS: dict[str, Callable[[Path], list[Any]]] = {
    "kv-cache-tester": _kv_cache,
    "mini-swe-agent": _mini_swe_agent,
    "mooncake": _mooncake,
    "otel": _otel,
    "swe-agent": _swe_agent,
}
"""By the folder of the recordings: the prompts, or their lengths, as the source states them."""
