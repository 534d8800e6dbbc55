"""The multi-turn runs captured on real engines: rendered, tokenized and analysed, their cached figures come out.

Each was rendered by its engine with `hermes_chatml.jinja` (llama.cpp/own-template: with the model's own template).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
import pytest

from replayer.prefix.tokenizers import Tokenizer, load_tokenizer
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.conclusion import session_verdict
from replayer.traces.schema import Usage

CAPTURES = Path(__file__).parents[2] / "captures"
VOCABULARY = Path(__file__).with_name("smollm2_part.tokenizer.json")
OWN_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
"""SmolLM2's, as `/props` gives it, for conversations that begin with a system message."""

TURNS = [f"multiturn-{n}" for n in range(6)]
AGAIN = ["multiturn-repeat-last", "multiturn-repeat-last-2"]

RUNS: dict[str, tuple[int, list[str], list[int]]] = {
    "vllm-0.32-cpu/plain": (128, TURNS[:4] + AGAIN, [640, 1152, 1664, 2176, 2560]),
    "vllm-0.32-cpu/per-request-metrics": (32, TURNS[:4] + AGAIN, [704, 1216, 1696, 2176, 2656]),
    "sglang-0.5.23-cpu": (1, TURNS[:4] + AGAIN, [748, 1238, 1725, 2212, 2695]),
    "vllm-0.21.0-h200/nospec": (16, TURNS + AGAIN, [896, 1360, 1808, 2288, 2752, 3200, 3632]),
    "sglang-0.5.12-h200/nospec": (1, TURNS + AGAIN, [952, 1412, 1869, 2347, 2804, 3261, 3693]),
    "llama.cpp/tools": (1, [f"30_turn{n}" for n in range(1, 7)], [703, 855, 1229, 1343, 1423]),
    "llama.cpp/own-template": (1, [f"30_turn{n}" for n in range(1, 7)], [250, 348, 673, 698, 728]),
}
"""Block size, requests in the order in which they were sent, cached tokens from the second request on."""


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer(str(VOCABULARY), pytest.fail)


def rendered(run: str, request: dict[str, Any]) -> str:
    """What the engine made of a request. SGLang adds its own fields to each tool."""
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    own = run.endswith("own-template")
    source = OWN_TEMPLATE if own else (CAPTURES / "hermes_chatml.jinja").read_text("utf-8")
    for message in request["messages"]:
        message["content"] = message["content"] or ""
        for call in message.get("tool_calls", ()) if "vllm" in run or "sglang" in run else ():
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    for tool in request["tools"] if "sglang" in run else ():
        tool["function"].update({"strict": False} if "0.5.12" in run else {})
        tool["defer_loading"] = None
    return environment.from_string(source).render(
        messages=request["messages"], tools=request["tools"], add_generation_prompt=True
    )


def reply(path: Path) -> tuple[str, dict[str, Any]]:
    """The generated text, calls as the model wrote them, and the usage."""
    text, calls, usage = "", "", {}
    for line in path.read_text("utf-8").splitlines():
        chunk = json.loads(line[6:]) if line.startswith("data: {") else {}
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices", ()):
            text += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls") or ():
                function = call["function"]
                name = function.get("name")
                calls += f'<tool_call>\n{{"name": "{name}", "arguments": ' if name else ""
                calls += function.get("arguments") or ""
    # All of them were cut by max_tokens: SGLang closed the JSON itself, the model had not.
    return text + calls.removesuffix('"}'), usage


@pytest.mark.parametrize("run", RUNS)
def test_cached_figures_come_out(run: str, tokenizer: Tokenizer) -> None:
    block_size, names, cached = RUNS[run]
    # With overlapped scheduling (the H200 runs) SGLang computes the last token too.
    reuse = PrefixReuse(block_size=block_size, caches_last="sglang-0.5.12" in run)
    findings = []
    for name in names:
        sent = json.loads((CAPTURES / run / f"{name}.request.json").read_bytes())
        text, usage = reply(CAPTURES / run / f"{name}.response.sse")
        prompt = tokenizer.encode(rendered(run, json.loads(json.dumps(sent))))
        turn = reuse.request(name, prompt, sent["messages"], sent["tools"])
        reuse.generated(name, tokenizer.encode(text))
        assert turn.prompt_tokens == usage["prompt_tokens"]
        told = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        findings.append(reuse.reported(name, Usage(cached_tokens=told)))
    assert [found.ideal_tokens for found in findings[1:]] == cached
    assert [found.reported_tokens for found in findings[1:]] == cached
    assert {found.cause for found in findings} == {None}
    assert session_verdict(findings[1:]).startswith("healthy: ")
    # The first request found the cache warm from a run before, which no analyser could know.
    assert "the cache was warm before the run" in session_verdict(findings)
    assert findings[0].above > 0
    assert "this lane had sent at most 0" in findings[0].disagreements[0]
