"""The signal itself: one analyser watches one server, over all lanes and sessions on it, in the order of arrival."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from replayer.lazy import Newest, dataclass
from replayer.signals.prefix_reuse.continuation import Past, later_divergence
from replayer.signals.prefix_reuse.diagnosis import Diagnosis, Report
from replayer.signals.prefix_reuse.divergence import Conversation, Divergence, diverge
from replayer.signals.prefix_reuse.finding import Expected, PrefixFinding, TurnReuse
from replayer.signals.prefix_reuse.index import Node, Pool, Position, RadixIndex
from replayer.signals.prefix_reuse.lineage import Lineage
from replayer.signals.prefix_reuse.messages import Message, as_bytes, role_of
from replayer.signals.prefix_reuse.scale import Scale
from replayer.signals.prefix_reuse.tokens import Prompt, count, ideal_reuse, segments_of, template_tail
from replayer.signals.prefix_reuse.ttft_witness import TtftWitness
from replayer.text import kept_json
from replayer.traces.schema import Usage

_TURNS_KEPT = 4096
_THREADS_KEPT = 4096
_NEAR = 0.5
"""Share of the pool that may be taken up in between while a prefix is still surely held."""


@dataclass(slots=True)
class _Turn:
    reuse: TurnReuse
    end: Position
    met: Position
    held: int
    sent: int | None
    head: int
    """System prompt and tools: where no engine rendered them, their order is not known."""
    marks: Collection[str] = ()
    tokens: int | None = None
    """The prompt as the engine counted it."""
    generated: int = 0
    grown: Position | None = None
    """Where the stream ends with what was generated."""
    reply: bytes | None = None


class PrefixReuse:
    """Ideal and reported prefix-cache reuse of one server, and the cause of the gap.

    Call `request` when a request is sent, `generated` when its reply is complete, `reported` last; requests may
    overlap. `block_size` None is unknown: the ideal is then that of single tokens. `capacity_tokens` is the KV pool,
    where known; `slots` how many prompts a server keeps that caches by slot. `caching` is what the server says of its
    cache. `caches_last` says that the last generated token is cached too: most engines stop before they compute it,
    SGLang with overlapped scheduling computes it.

    Memory: at most 32 million tokens at four bytes, the texts of the last requests of each thread, 4,096 turns.
    """

    name = "prefix_reuse"
    version = 2

    def __init__(
        self,
        *,
        block_size: int | None,
        capacity_tokens: int | None = None,
        speculative_backoff: bool = False,
        token_source: str = "engine",
        caches_last: bool = False,
        slots: int | None = None,
        caching: bool | None = None,
    ) -> None:
        self._block = block_size or 1
        self._capacity = capacity_tokens
        self._backoff = speculative_backoff
        self.token_source = token_source
        self._caches_last = caches_last
        self._slots = slots
        self._lineages: Newest[str, Lineage] = Newest(_THREADS_KEPT)
        self._turns: Newest[str, _Turn] = Newest(_TURNS_KEPT)
        self._asked: dict[str, set[str]] = {}
        """The scopes of each thread, in the order in which the threads asked last."""
        self._busy: dict[str, int] = {}
        """Prompts on their way, by key, where times are known: what they hold cannot hold anything else."""
        self._witness = TtftWitness()
        self._diagnosis = Diagnosis(block_size, slots=slots, caching=caching)
        self._doubted = -1
        self._rendered = self._counted = 0
        """Tokens of all prompts that the engine has counted, in our measure and in its own."""
        self._empty()

    def _empty(self) -> None:
        self._index = RadixIndex()
        self._pool = Pool(self._index, self._block, self._capacity) if self._capacity else None
        self._fit_pool()

    @property
    def _rate(self) -> float:
        """The engine's tokens for each of ours."""
        return self._counted / self._rendered if self._rendered else 1.0

    def _fit_pool(self) -> None:
        if self._pool and self._capacity:
            self._pool.resize(round(self._capacity / self._rate))

    def reset(self) -> None:
        """The cache was emptied while nothing was in flight."""
        self._empty()
        self._turns.clear()
        self._busy.clear()

    def doubt(self, at: int) -> None:
        """From `at` on nothing is surely cached any more: the server was restarted, or reset while it worked."""
        self._doubted = max(self._doubted, at)

    def sampled(self, preempted: float | None, cached: float | None) -> None:
        """What the server has counted since the run began: preemptions, retractions, cached tokens."""
        self._diagnosis.counted(preempted, cached)

    def failed(self, key: str) -> None:
        """No reply came."""
        self._busy.pop(key, None)

    def ended(self, thread: str) -> None:
        """No further request of a thread will come."""
        scopes = self._asked.pop(thread, ())
        for scope in scopes:
            self._lineages.pop(f"{scope}\n{thread}", None)
        gone = self._index.leave(thread, scopes)
        if self._pool:
            self._pool.condense(gone)
        for node in gone:
            self._turns.pop(node.owner, None)

    def request(
        self,
        key: str,
        prompt: Prompt,
        messages: Sequence[Message] | None = None,
        tools: Sequence[object] | bytes | None = None,
        *,
        thread: str = "",
        scope: str = "",
        sent: int | None = None,
        marks: Collection[str] = (),
    ) -> TurnReuse:
        """Compare a prompt with everything this server has seen. `messages` and `tools` are needed to name a cause.

        `thread` names the line of turns that the request belongs to; requests of one `scope` (salt, adapter) alone can
        share. `sent` is the time of sending in nanoseconds; without it requests are taken to follow one another. `marks`
        are the places of `cache_control`.
        """
        segments = segments_of(prompt)
        met, end = self._index.add(segments, key, scope=scope, thread=thread)
        total = count(segments)
        held, recency = self._in_pool(met)
        before, divergence = self._compare(key, messages, tools, f"{scope}\n{thread}")
        past = Past(before.reuse, before.generated, before.reply) if before else None
        divergence = divergence or later_divergence(past, met.depth, total, messages, _length(tools))
        ideal = self._ideal(held, total)
        reuse = TurnReuse(
            key=key,
            prompt_tokens=total,
            shared=met.depth,
            shared_generated=max(0, met.depth - past.sent) if past else 0,
            ideal=ideal,
            ideal_by_block_size={
                size: ideal_reuse(met.depth, total, size) for size in sorted({1, 16, self._block})
            },
            evicted=self._ideal(met.depth, total) - ideal,
            bounded=self._pool is not None,
            expected=max(met.depth, past.expected(total) if past else 0),
            previous=before.reuse.key if before else None,
            best=met.node.owner if met.depth else None,
            divergence=divergence,
            mark_left=next((mark for mark in before.marks if mark not in marks), None) if before else None,
            token_source=self.token_source,
            recency=None if recency is None else round(recency * self._rate),
            recency_limit=self._capacity if self._pool else None,
            near=self._pool is None or (recency or 0) + total <= _NEAR * self._pool.tokens,
            pool_evicts=self._pool is not None and self._pool.evicted > 0,
            others=self._others(thread, scope),
        )
        rendered_here = self.token_source != "engine" and _has_head(messages, tools)
        if sent is not None:
            self._busy[key] = total
        head = count(segments[:1]) if rendered_here else 0
        self._enter(_Turn(reuse, end, met, held, sent, head, marks))
        return reuse

    def _in_pool(self, met: Position) -> tuple[int, int | None]:
        """What of a known prefix is held, and the tokens that have taken room since it was last used."""
        if self._pool is None:
            return met.depth, None
        since = self._pool.taken - met.resolve().node.stamp
        return self._pool.resident(met), since + sum(self._busy.values())

    def _others(self, thread: str, scope: str) -> int | None:
        """How many other threads have asked since this one did; it asks now."""
        found = None
        if thread in self._asked:
            found = len(self._asked) - 1 - list(self._asked).index(thread) if self._slots else 0
        scopes = self._asked[thread] = self._asked.pop(thread, set())
        scopes.add(scope)
        return found

    def _enter(self, turn: _Turn) -> None:
        """The stream is now held, and its turn kept."""
        node: Node | None = self._index.split(turn.end)
        while (
            node is not None and node.parent is not None and node.passes < 2
        ):  # those above have two as well
            node.passes += 1
            node = node.parent
        if self._pool:
            self._pool.use(turn.end)
        self._turns[turn.reuse.key] = turn

    def generated(
        self, key: str, output: Prompt, reply: Message | None = None, *, tokens: int | None = None
    ) -> None:
        """Generated tokens are cached too. `reply` is the assistant message they make, where it will be sent back;
        `tokens` how many the engine counted."""
        turn = self._turns.get(key)
        if turn is None:
            return
        data = b"".join(segments_of(output))
        data = data if self._caches_last else data[:-4]
        turn.generated = len(data) // 4 if tokens is None else tokens
        turn.reply = as_bytes(reply) if reply is not None else None
        held = not self._pool or self._pool.resident(turn.end) == turn.end.depth
        turn.grown = self._index.extend(turn.end, data, key)
        if self._pool and held:  # what was evicted meanwhile does not come back with the reply
            self._pool.use(turn.grown)

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
        turn = self._turns[key]
        self._busy.pop(key, None)
        counted = usage.prompt_tokens if usage else None
        expected = self._expected(turn, counted)
        if counted is not None:
            self._anchor(turn, counted)
        witness = None
        if ttft_ns is not None:
            witness = self._witness.judge(turn.reuse, ttft_ns)
            self._witness.learn(turn.reuse, ttft_ns)
        if self.token_source != "engine" and counted is None:
            usage, metrics_delta, ended = None, None, False  # nothing to compare its tokens with
        metrics = None if metrics_delta is None else round(metrics_delta)
        report = Report(usage.cached_tokens if usage else None, metrics, witness, prompt=counted, ended=ended)
        return self._diagnosis.finding(turn.reuse, expected, report)

    def _anchor(self, turn: _Turn, counted: int) -> None:
        """Remember where in the tree the engine counted how many tokens."""
        self._index.split(turn.end).anchor = turn.tokens = counted
        if self.token_source != "engine":
            self._rendered, self._counted = self._rendered + turn.reuse.prompt_tokens, self._counted + counted
            self._fit_pool()
        if turn.grown is not None and turn.grown.depth > turn.end.depth:
            self._index.split(turn.grown).anchor = counted + turn.generated

    def settle(self, key: str, at: int) -> None:
        """The reply has come: from `at` on its prompt, and what was generated, is surely cached."""
        turn = self._turns.get(key)
        node = (turn.grown or turn.end).resolve().node if turn else None
        while node and (node.settled is None or node.settled < self._doubted):
            node.settled = at
            node = node.parent

    def unasked(self, key: str) -> PrefixFinding:
        """The finding where there is no engine to report anything. Raises KeyError as `reported` does."""
        turn = self._turns[key]
        return self._diagnosis.finding(turn.reuse, self._expected(turn, None), None)

    def _expected(self, turn: _Turn, counted: int | None) -> Expected | None:
        """The turn in the engine's tokens; None where only another measure is known."""
        reuse = turn.reuse
        exact = self.token_source == "engine" and counted in (None, reuse.prompt_tokens)
        sure, most = self._sure(turn), self._most(turn)
        if exact or counted is None:
            lost = reuse.lost if reuse.lost > template_tail(self.token_source) or exact else 0
            return Expected(
                prompt=reuse.prompt_tokens,
                least=self._ideal(sure, reuse.prompt_tokens),
                ideal=reuse.ideal,
                most=self._ideal(most, reuse.prompt_tokens),
                unbounded=reuse.ideal + reuse.evicted,
                shared=reuse.shared,
                lost=lost,
            )
        scale = Scale(turn.end, reuse.prompt_tokens, counted, self._owner_of(turn))
        shared, error = scale.tokens(reuse.shared)
        lost = self._lost(reuse, shared, error, counted)
        at_most = max(sum(scale.tokens(most)), shared + lost if reuse.divergence else 0)
        return Expected(
            prompt=counted,
            least=self._ideal(max(0, scale.tokens(sure)[0] - scale.tokens(sure)[1]), counted),
            ideal=self._ideal(scale.tokens(turn.held)[0], counted),
            most=self._ideal(at_most, counted),
            unbounded=self._ideal(shared, counted),
            shared=shared,
            lost=lost,
            error=error,
        )

    def _lost(self, reuse: TurnReuse, shared: int, error: int, counted: int) -> int:
        """What the request would share, had it only grown, beyond what it does; 0 within the error."""
        before = self._turns.get(reuse.previous) if reuse.previous else None
        if before is None or before.tokens is None or not reuse.lost:
            return 0
        came_back = before.generated if before.reply else 0
        lost = min(before.tokens + came_back, counted) - shared
        return lost if lost > error + template_tail(self.token_source) else 0

    def _sure(self, turn: _Turn) -> int:
        """How far the prompt was in the cache for certain when it was sent."""
        if turn.reuse.others is not None and self._slots and turn.reuse.others >= self._slots:
            return 0
        if turn.reuse.others is None and self._slots:
            return 0
        if turn.met.depth < turn.head:
            return 0
        if turn.sent is None:
            return turn.held
        node: Node | None = turn.met.resolve().node
        while node and (node.settled is None or not self._doubted <= node.settled <= turn.sent):
            node = node.parent  # what is settled at one point is settled before it
        return min(node.depth if node else 0, turn.met.depth, turn.held)

    @staticmethod
    def _most(turn: _Turn) -> int:
        """How far another request has gone the same way by now."""
        node: Node | None = turn.end.resolve().node
        while node and node.passes < 2:
            node = node.parent
        return max(turn.met.depth, min(node.depth if node else 0, turn.reuse.prompt_tokens))

    def _owner_of(self, turn: _Turn) -> tuple[int, int] | None:
        """Length and tokens of the stream with which the most is shared."""
        owner = self._turns.get(turn.reuse.best or "")
        return None if owner is None or owner.tokens is None else (owner.end.depth, owner.tokens)

    def _ideal(self, shared: int, total: int) -> int:
        return ideal_reuse(shared, total, self._block, speculative_backoff=self._backoff)

    def _compare(
        self,
        key: str,
        messages: Sequence[Message] | None,
        tools: Sequence[object] | bytes | None,
        line: str,
    ) -> tuple[_Turn | None, Divergence | None]:
        if messages is None:
            return None, None
        lineage = self._lineages.pop(line, None) or Lineage()
        self._lineages[line] = lineage
        offered = tools if isinstance(tools, bytes) else kept_json(list(tools or ()))
        conversation = Conversation(
            lineage.intern(messages),
            *lineage.intern([offered]),
        )
        found = lineage.predecessor(conversation)
        lineage.add(key, conversation)
        if found is None:
            return None, None
        return self._turns.get(found[0]), diverge(found[1], conversation)


def _length(tools: Sequence[object] | bytes | None) -> int:
    return len(tools if isinstance(tools, bytes) else kept_json(list(tools or ())))


def _has_head(messages: Sequence[Message] | None, tools: Sequence[object] | bytes | None) -> bool:
    """Whether the prompt begins with instructions or tools."""
    if not messages:
        return False
    return bool(tools and tools != b"[]") or role_of(messages[0]) in ("system", "developer")
