"""What one server's prefix cache should hold and what it reuses, worked out from the requests and replies of all its lanes.

Pure: it knows requests as bytes, replies, usage and times, and neither HTTP nor the journal. A run feeds it while it
goes on, `report --rejudge` from what a journal kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import orjson

from replayer.engines.base import EngineFacts
from replayer.engines.registry import KINDS
from replayer.lazy import dataclass
from replayer.prefix.chatml import PromptTokens
from replayer.prefix.growing import Digest, GrowingRequests
from replayer.prefix.tokenizers import Estimate, model_tokenizer
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.signals.prefix_reuse.tokens import WIDTH, pack
from replayer.text import shared_start
from replayer.traces.chat import assistant, function_call
from replayer.traces.schema import Usage
from replayer.wire.types import Json, JsonObject

_COMMON_TEXT = 8
"""Characters of a reply that must come back before its first words are worth counting."""
_LINES = 8
"""Requests of a session whose replies may come back: subagents work beside one another."""
_SLACK = 2000
"""Prompt tokens of warm-up and probes that the server may have counted beside ours."""
_BOOK_BYTES = 64 << 20
_STORED = b'"previous_response_id":"'


class PromptBook:
    """Prompts as the engine's own tokens, asked for before a run, by model and text; lanes of a model lend each other.

    Bounded: what does not fit into 64 MiB is estimated.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._bytes = 0
        self.complete: set[str] = set()
        """Origins of servers all of whose prompts are here."""

    def add(self, digest: Digest, ids: Sequence[int]) -> bool:
        """False when there is no room left."""
        packed = pack(ids)
        self._bytes += len(packed)
        if self._bytes > _BOOK_BYTES:
            return False
        self._known[digest.value] = packed
        return True

    def find(self, digest: Digest) -> bytes | None:
        return self._known.get(digest.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for a request. Times in nanoseconds of one clock. `message` is what a client would send back."""

    message: JsonObject
    usage: Usage | None
    sent: int
    first: int | None
    ended: int
    complete: bool
    """Its end was seen: usage comes last."""


@dataclass(slots=True)
class _Sent:
    """A request on its way, and after it what may come back of its reply."""

    key: str
    thread: str
    messages: int
    ids: bytes | None
    alone: bool
    answer: Answer | None = None


@dataclass(slots=True)
class _Counters:
    """What a metrics page counted since its first reading in this run."""

    first: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)

    def read(self, sample: Mapping[str, Json]) -> bool:
        """True when the server has been restarted since the last reading."""
        names = ("prompt_tokens", "cached_tokens", "preempted")
        now = {name: float(sample[name]) for name in names if name in sample}
        now["started"] = float((sample.get("gauges") or {}).get("started") or 0.0)
        fell = any(now[name] < self.last.get(name, 0.0) for name in now if name != "started")
        restarted = bool(self.last) and (fell or now["started"] != self.last["started"])
        if restarted or not self.first:
            self.first = {} if restarted else dict(now)
        self.last = now
        return restarted

    def since(self, name: str) -> float | None:
        return self.last[name] - self.first.get(name, 0.0) if name in self.last else None


class ServerWatch:
    """The expected reuse of one server. Call `asked` in the order of sending, `answered` as replies end."""

    def __init__(
        self, facts: EngineFacts, origin: str, book: PromptBook | None = None, *, live: bool = False
    ) -> None:
        self._facts = facts
        self._live = live
        self._book = book if book is not None and origin in book.complete else None
        tokenizer = model_tokenizer(facts.effective.get("weights")) or Estimate()
        self._local = PromptTokens(tokenizer)
        self._requests = GrowingRequests()
        self._open: dict[str, _Sent] = {}
        self._last: dict[str, list[_Sent]] = {}
        self._ours = 0
        self._counters: dict[str, _Counters] = {}
        self._reuse = self._watching("engine" if self._book else tokenizer.name)

    def _watching(self, token_source: str) -> PrefixReuse:
        facts = self._facts
        slots = facts.effective.get("slots") if facts.kind in ("llamacpp", "ik_llama") else None
        return PrefixReuse(
            block_size=facts.block_size,
            capacity_tokens=facts.kv_pool_tokens,
            speculative_backoff=backs_off(facts),
            token_source=token_source,
            slots=slots if isinstance(slots, int) else None,
            caching={"yes": True, "no": False}.get(facts.features.get("prefix_caching", "")),
        )

    def asked(
        self,
        key: str,
        thread: str,
        body: bytes,
        sent: int,
        *,
        entries: slice | None = None,
        filler: bool = False,
    ) -> None:
        """A request is sent. `entries`: where its messages lie in the body, between their brackets; then what it adds to
        the last one of its thread is all that is read. `filler`: its text says nothing, so no change in it is a
        client's."""
        if _STORED in (body if entries is None else body[: entries.start] + body[entries.stop :]):
            return  # most of its prompt is the server's
        request = self._requests.read(thread, body, entries)
        messages, tools = request.messages, request.tools
        ids = None
        if self._book is not None:
            ids = self._book.find(request.digest)
            if ids is None and (self._open or self._ours):
                return  # the tokens of one request alone are missing: nothing is said of it
            if ids is not None:
                self._learn_what_came_back(thread, ids, messages)
            else:
                self._book, self._reuse = None, self._watching(self._local.source)
        for other in self._open.values():
            other.alone = False
        self._open[key] = _Sent(key, thread, len(messages), ids, alone=not self._open)
        self._reuse.request(
            key,
            self._local.prompt(messages, tools, request.rendered) if ids is None else ids,
            None if filler else messages,
            tools,
            thread=thread,
            scope=f"{self._adapter(request.fields)}/{request.fields.get('cache_salt') or ''}",
            sent=sent,
            marks=() if filler else request.marks,
        )

    def answered(self, key: str, answer: Answer) -> PrefixFinding | None:
        """The reply has ended. None where its prompt's tokens could not be had."""
        sent, usage = self._open.pop(key, None), answer.usage
        self._ours += (usage.prompt_tokens or 0) if usage else 0
        if sent is None:
            return None
        sent.answer = answer
        if sent.ids is None:
            tokens = usage.completion_tokens if usage else None
            output = self._local.reply(orjson.dumps(answer.message))
            self._reuse.generated(key, output, answer.message if self._live else None, tokens=tokens)
        else:
            self._last[sent.thread] = [*self._last.get(sent.thread, []), sent][-_LINES:]
        ttft = None if answer.first is None or not sent.alone else answer.first - answer.sent
        found = self._reuse.reported(key, usage, ttft_ns=ttft, ended=answer.complete)
        self._reuse.settle(key, answer.ended)
        return found

    def failed(self, key: str, at: int, *, lost: bool) -> None:
        """No reply came. `lost`: the connection broke, or none could be made: the server may be another process now."""
        self._open.pop(key, None)
        self._reuse.failed(key)
        if lost:
            self._reuse.doubt(at)

    def reset(self, at: int) -> None:
        """The cache was emptied; while requests are in flight nobody knows what of it is left."""
        if self._open:
            self._reuse.doubt(at)
        else:
            self._reuse.reset()

    def sampled(self, reader: str, sample: Mapping[str, object], at: int) -> None:
        """A reading of the server's metrics; `reader` is the lane that read them."""
        if "missing" in sample:
            return
        counters = self._counters.setdefault(reader, _Counters())
        if counters.read(sample):
            self._reuse.doubt(at)
        prompt, cached = counters.since("prompt_tokens"), counters.since("cached_tokens")
        foreign = prompt is None or prompt > self._ours + _SLACK
        self._reuse.sampled(counters.since("preempted"), None if foreign else cached)

    def ended(self, thread: str) -> None:
        """No further request of a session will come."""
        self._last.pop(thread, None)
        self._requests.ended(thread)
        self._reuse.ended(thread)

    def _adapter(self, request: JsonObject) -> str:
        """A served model with a cache of its own; names of the base model share one."""
        model, lora = request.get("model"), self._facts.effective.get("lora")
        if isinstance(lora, list):
            return str(model) if model in lora else ""
        other = self._facts.kind != "vllm" and model in self._facts.models[1:]
        return str(model) if other else ""

    def _learn_what_came_back(self, thread: str, prompt: bytes, messages: Sequence[bytes]) -> None:
        """The history holds a recorded reply. As far as the engine had said the same, it has those tokens cached."""
        lines = self._last.get(thread, [])
        before = next((sent for sent in reversed(lines) if prompt.startswith(sent.ids or b"")), None)
        if before is None or before.ids is None or before.answer is None:
            return
        lines.remove(before)
        begin, said = len(before.ids), _text(before.answer.message) or ""
        new = map(orjson.loads, messages[before.messages :])
        came_back = [text for message in new if (text := _text(message))]
        if not said:
            return
        usage = before.answer.usage
        if said in came_back and usage and usage.completion_tokens:
            count = usage.completion_tokens
        else:
            first, tokens = came_back[0] if came_back else "", (len(prompt) - begin) // WIDTH
            same = shared_start(said, first)
            count = 0 if same < _COMMON_TEXT else same * tokens // max(1, sum(map(len, came_back)))
        if count:
            self._reuse.generated(before.key, prompt[begin : begin + count * WIDTH])


def backs_off(facts: EngineFacts) -> bool:
    """Whether speculation takes one block of every match, by the method that the server names."""
    speculation = facts.effective.get("speculation")
    method = str(speculation.get("method", "")) if isinstance(speculation, dict) else ""
    kind = KINDS.get(facts.kind)
    return kind is not None and any(name in method.lower() for name in kind.backoff_methods)


def assistant_message(content: str, reasoning: str, calls: Sequence[Mapping[str, object]]) -> JsonObject:
    """The message that a client would send back for a reply; calls have id, name and arguments."""
    found = [function_call(call["id"], call["name"], call["arguments"]) for call in calls]
    return assistant(content or None, reasoning, found)


def _text(message: JsonObject) -> str | None:
    if message.get("role") != "assistant":
        return None
    calls = (call.get("function", {}) for call in message.get("tool_calls") or ())
    content = message.get("content")
    return (content if isinstance(content, str) else "") + "".join(
        f"{call.get('name')}{call.get('arguments')}" for call in calls
    )
