"""The signal itself: one analyser watches one lane instance within one isolation scope."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from replayer.signals.prefix_reuse.continuation import Past, later_divergence
from replayer.signals.prefix_reuse.diagnosis import Diagnosis, Report
from replayer.signals.prefix_reuse.divergence import Conversation, Divergence, diverge
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse
from replayer.signals.prefix_reuse.ideal import ideal_reuse
from replayer.signals.prefix_reuse.index import Position, RadixIndex
from replayer.signals.prefix_reuse.lineage import Lineage
from replayer.signals.prefix_reuse.messages import Message, as_bytes
from replayer.signals.prefix_reuse.pool import Pool
from replayer.signals.prefix_reuse.tokens import Prompt, count, segments_of
from replayer.signals.prefix_reuse.witness import TtftWitness
from replayer.traces.schema import Usage

_TURNS_KEPT = 1024


@dataclass(slots=True)
class _Turn:
    reuse: TurnReuse
    end: Position
    generated: int = 0
    reply: bytes | None = None


class PrefixReuse:
    """Ideal and reported prefix-cache reuse of one lane, and the cause of the gap.

    Call `request` before a request is sent, `generated` when its reply is complete, `reported` last. Requests
    may overlap. `block_size` None is unknown: the ideal is then that of single tokens. `capacity_tokens` is the
    KV pool, where known. `caches_last` says that the last generated token is cached too: most engines stop
    before they compute it, SGLang with overlapped scheduling computes it.
    """

    name = "prefix_reuse"
    version = 1

    def __init__(
        self,
        *,
        block_size: int | None,
        capacity_tokens: int | None = None,
        speculative_backoff: bool = False,
        token_source: str = "engine",
        caches_last: bool = False,
    ) -> None:
        self._block = block_size or 1
        self._backoff = speculative_backoff
        self.token_source = token_source
        self._caches_last = caches_last
        self._index = RadixIndex()
        self._pool = Pool(self._index, self._block, capacity_tokens) if capacity_tokens else None
        self._lineage = Lineage()
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._witness = TtftWitness()
        self._diagnosis = Diagnosis(block_size)

    def request(
        self,
        key: str,
        prompt: Prompt,
        messages: Sequence[Message] | None = None,
        tools: Sequence[Any] | bytes | None = None,
    ) -> TurnReuse:
        """Compare a prompt with everything this lane has seen. `messages` and `tools` are needed to name a cause."""
        segments = segments_of(prompt)
        met, end = self._index.add(segments, key)
        total = count(segments)
        held = self._pool.resident(met) if self._pool else met.depth
        if self._pool:
            self._pool.use(end)
        ideal, unbounded = self._ideal(held, total), self._ideal(met.depth, total)
        before, divergence = self._compare(key, messages, tools)
        past = Past(before.reuse, before.generated, before.reply) if before else None
        divergence = divergence or later_divergence(past, met.depth, total, messages)
        reuse = TurnReuse(
            key=key,
            prompt_tokens=total,
            shared=met.depth,
            shared_generated=max(0, met.depth - past.sent) if past else 0,
            ideal=ideal,
            ideal_by_block_size={
                size: ideal_reuse(met.depth, total, size) for size in sorted({1, 16, self._block})
            },
            evicted=unbounded - ideal,
            bounded=self._pool is not None,
            expected=max(met.depth, past.expected(total) if past else 0),
            previous=before.reuse.key if before else None,
            best=met.node.owner if met.depth else None,
            divergence=divergence,
            token_source=self.token_source,
        )
        self._keep(_Turn(reuse, end))
        return reuse

    def generated(self, key: str, output: Prompt, reply: Message | None = None) -> None:
        """Generated tokens are cached too. `reply` is the assistant message they make, where it will be sent back."""
        turn = self._turns.get(key)
        if turn is None:
            return
        data = b"".join(segments_of(output))
        data = data if self._caches_last else data[:-4]
        turn.generated = len(data) // 4
        turn.reply = as_bytes(reply) if reply is not None else None
        end = self._index.extend(turn.end, data, key)
        if self._pool:
            self._pool.use(end)

    def reported(
        self,
        key: str,
        usage: Usage | None,
        metrics_delta: float | None = None,
        ttft_ns: int | None = None,
        *,
        ended: bool = True,
    ) -> PrefixFinding:
        """What the engine said. Pass `metrics_delta` and `ttft_ns` only when nothing else ran on the engine.

        A stream that was not `ended` had no chance to report: nobody is blamed that nothing was.

        Raises KeyError for a key that was never requested.
        """
        reuse = self._turns[key].reuse
        witness = None
        if ttft_ns is not None:
            witness = self._witness.judge(reuse, ttft_ns)
            self._witness.learn(reuse, ttft_ns)
        metrics = None if metrics_delta is None else round(metrics_delta)
        return self._diagnosis.finding(
            reuse, Report(usage.cached_tokens if usage else None, metrics, witness, ended=ended)
        )

    def unasked(self, key: str) -> PrefixFinding:
        """The finding where there is no engine to report anything. Raises KeyError as `reported` does."""
        return self._diagnosis.finding(self._turns[key].reuse, None)

    def _ideal(self, shared: int, total: int) -> int:
        return ideal_reuse(shared, total, self._block, speculative_backoff=self._backoff)

    def _compare(
        self, key: str, messages: Sequence[Message] | None, tools: Sequence[Any] | bytes | None
    ) -> tuple[_Turn | None, Divergence | None]:
        if messages is None:
            return None, None
        offered = tools if isinstance(tools, bytes) else orjson.dumps(list(tools or ()), default=str)
        intern = self._lineage.intern
        conversation = Conversation(tuple(intern(as_bytes(m)) for m in messages), intern(offered))
        found = self._lineage.predecessor(conversation)
        self._lineage.add(key, conversation)
        if found is None:
            return None, None
        return self._turns.get(found[0]), diverge(found[1], conversation)

    def _keep(self, turn: _Turn) -> None:
        self._turns[turn.reuse.key] = turn
        if len(self._turns) > _TURNS_KEPT:
            self._turns.popitem(last=False)
