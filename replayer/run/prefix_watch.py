"""Feeds the prefix-reuse signal while a session runs: tokens from the engine where it offers them, else from here."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import orjson

from replayer.engines.base import Engine, EngineFacts
from replayer.engines.registry import KINDS
from replayer.errors import ReplayerError
from replayer.prefix.chatml import PromptTokens
from replayer.prefix.tokenizers import load_tokenizer
from replayer.signals.prefix_reuse import PrefixFinding, PrefixReuse
from replayer.traces.schema import Usage
from replayer.wire.types import Reply

MAX_CONCURRENCY = 16
"""Above this the signal is off: every session's prompt would be held in its index."""

Messages = list[dict[str, Any]]


_COMMON_TEXT = 8
"""Characters of a reply that must come back before it is worth asking the engine for its tokens."""


@dataclasses.dataclass(slots=True)
class _Sent:
    """A request whose reply may come back, whole or in its first words. `completion` None: the engine did not say."""

    key: str
    prompt: list[int]
    completion: int | None
    messages: Messages
    tools: Messages
    reply: Reply


class PrefixWatch:
    """One engine instance within one isolation scope. `analyse` is called after each reply, before the next request."""

    def __init__(self, engine: Engine, facts: EngineFacts, *, alone: bool, live: bool = False) -> None:
        self._engine = engine
        self._alone = alone
        self._live = live
        self._lock = asyncio.Lock()
        self._by_engine = facts.features.get("tokenize") == "yes"
        self._local: PromptTokens | None = None
        self._last: dict[str, _Sent] = {}
        source = "engine" if self._by_engine else self._load_local()
        self._reuse = PrefixReuse(
            block_size=facts.block_size,
            capacity_tokens=facts.kv_pool_tokens,
            speculative_backoff=backs_off(facts),
            token_source=source,
        )

    async def analyse(
        self, session: str, turn: int, messages: Messages, tools: Messages, reply: Reply, usage: Usage | None
    ) -> PrefixFinding | None:
        """What could be reused and what was; None where the prompt's tokens cannot be had.

        `usage` of a reply without one is None: its reuse is then not reported, never 0.
        """
        async with self._lock:
            prompt = await self._told_tokens(messages, tools, reply)
            if prompt is None and self._by_engine:
                return None
            key = f"{session}/{turn}"
            if prompt is not None and not self._live:
                await self._learn_what_came_back(session, prompt, messages)
            found = await asyncio.to_thread(
                self._analyse, key, session, prompt, messages, tools, reply, usage
            )
            if self._live and prompt is not None:
                await self._learn_reply(key, prompt, messages, tools, reply, usage)
            return found

    async def _learn_reply(
        self,
        key: str,
        prompt: list[int],
        messages: Messages,
        tools: Messages,
        reply: Reply,
        usage: Usage | None,
    ) -> None:
        """Live, the reply should come back: its tokens are what the template adds for it, as many as usage counts."""
        message, ids = assistant_message(reply), reply.extra.get("token_ids")
        if isinstance(ids, list) and ids:
            self._reuse.generated(key, ids, message)
            return
        if usage and usage.completion_tokens:
            await self._learn_rendered(
                _Sent(key, prompt, usage.completion_tokens, messages, tools, reply), message
            )

    def _analyse(
        self,
        key: str,
        session: str,
        prompt: Any,
        messages: Messages,
        tools: Messages,
        reply: Reply,
        usage: Usage | None,
    ) -> PrefixFinding:
        """Milliseconds on long prompts: in a thread, so that other lanes' streams are not held up."""
        if self._local is not None:
            prompt = self._local.prompt([orjson.dumps(message) for message in messages], orjson.dumps(tools))
        self._reuse.request(key, prompt, messages, tools)
        self._remember(
            session, _Sent(key, prompt, usage.completion_tokens if usage else None, messages, tools, reply)
        )
        ttft = None
        if self._alone and reply.timing.first_token is not None:
            ttft = reply.timing.first_token - reply.timing.sent
        return self._reuse.reported(key, usage, ttft_ns=ttft, ended=reply.finish_reason is not None)

    async def _told_tokens(self, messages: Messages, tools: Messages, reply: Reply) -> list[int] | None:
        if not self._by_engine:
            return None
        told = reply.extra.get("prompt_token_ids")
        if isinstance(told, list) and told:
            return told
        try:
            return await self._engine.tokenize(messages, tools or None)
        except ReplayerError:
            return None

    def _remember(self, session: str, sent: _Sent) -> None:
        ids = sent.reply.extra.get("token_ids")
        if self._by_engine and self._live:
            return
        if self._by_engine and isinstance(ids, list) and ids:
            self._reuse.generated(sent.key, ids)
        elif self._by_engine:
            self._last[session] = sent
        elif self._local is not None:
            message = assistant_message(sent.reply)
            output = self._local.reply(orjson.dumps(message))
            self._reuse.generated(sent.key, output, message if self._live else None)

    async def _learn_what_came_back(self, session: str, prompt: list[int], messages: Messages) -> None:
        """The history holds a recorded reply. As far as the engine had said the same, it has those tokens in its cache."""
        before = self._last.pop(session, None)
        if before is None:
            return
        start, said = len(before.prompt), _said(before.reply)
        came_back = [_text(message) for message in messages[len(before.messages) :]]
        if said in came_back and before.completion and prompt[:start] == before.prompt:
            self._reuse.generated(before.key, prompt[start : start + before.completion])
        elif said and any(text and text[:_COMMON_TEXT] == said[:_COMMON_TEXT] for text in came_back):
            await self._learn_rendered(before)

    async def _learn_rendered(self, sent: _Sent, comes_back: dict[str, Any] | None = None) -> None:
        """A reply's tokens are what the template adds for it, as many as usage counts. `comes_back`: its message, where
        the client will send it."""
        start, message = len(sent.prompt), assistant_message(sent.reply)
        try:
            grown = await self._engine.tokenize([*sent.messages, message], sent.tools or None)
        except ReplayerError:
            return
        if grown and grown[:start] == sent.prompt:
            end = None if sent.completion is None else start + sent.completion
            self._reuse.generated(sent.key, grown[start:end], comes_back)

    def _load_local(self) -> str:
        tokenizer = load_tokenizer(None, lambda _: None)
        self._local = PromptTokens(tokenizer)
        return tokenizer.name


def backs_off(facts: EngineFacts) -> bool:
    """Whether speculation takes one block of every match, by the method that the server names."""
    speculation = facts.effective.get("speculation")
    method = str(speculation.get("method", "")) if isinstance(speculation, dict) else ""
    kind = KINDS.get(facts.kind)
    return kind is not None and any(name in method.lower() for name in kind.backoff_methods)


def assistant_message(reply: Reply) -> dict[str, Any]:
    """The message that a client would send back for a reply."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.content or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.tool_calls
        ]
    return message


def _said(reply: Reply) -> str:
    return reply.content + "".join(f"{call.name}{call.arguments}" for call in reply.tool_calls)


def _text(message: dict[str, Any]) -> str | None:
    if message.get("role") != "assistant":
        return None
    calls = (call.get("function", {}) for call in message.get("tool_calls") or ())
    return (message.get("content") or "") + "".join(
        f"{call.get('name')}{call.get('arguments')}" for call in calls
    )
