"""The embedded llama.cpp, really run: reported cached tokens against the computed ideal, turn by turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from replayer.engines.embedded import llama_server as embedded
from replayer.engines.llamacpp.adapter import LlamaCppEngine
from replayer.prefix.tokenizers import load_tokenizer, local_model
from replayer.requests.history import RecordedHistory
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.traces import library
from replayer.traces.reader import Trace

pytestmark = pytest.mark.slow


@pytest.fixture
async def engine() -> AsyncIterator[LlamaCppEngine]:
    server = await embedded.launch({"ctx": 8192})
    async with httpx.AsyncClient(timeout=300) as http:
        yield LlamaCppEngine(server.base_url, http)
    await server.stop()


async def turn(
    engine: LlamaCppEngine,
    reuse: PrefixReuse,
    key: str,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
) -> PrefixFinding:
    tokens = await engine.tokenize(messages, tools)
    assert tokens is not None
    reuse.request(key, tokens, messages, tools)
    body = {"messages": messages, "tools": tools, "temperature": 0, "max_tokens": 8, "return_tokens": True}
    answer = (await engine.http.post(f"{engine.base_url}/chat/completions", json=body)).json()
    message = answer["choices"][0]["message"]
    tokenizer = load_tokenizer(str(local_model()), pytest.fail)
    reuse.generated(key, tokenizer.encode(message.get("content") or ""))
    return reuse.reported(key, engine.usage(answer["usage"], answer))


async def test_every_turn_of_a_shipped_session(engine: LlamaCppEngine) -> None:
    """Must hold at each turn: reported equals ideal within the template's last token, or a cause is given."""
    reuse = PrefixReuse(block_size=1)
    findings = []
    with Trace.open(Path(library.shipped()["fix-failing-test"])) as trace:
        history = RecordedHistory(trace)
        for number in history.turns:
            messages, tools = history.messages(number), history.tools(number)
            findings.append(await turn(engine, reuse, str(number), messages, tools))
    assert len(findings) >= 8
    assert all((found.gap is not None and abs(found.gap) <= 1) or found.cause for found in findings)
    assert sum(found.cause == "unknown" for found in findings) * 20 <= len(findings)
