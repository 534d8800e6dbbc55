"""Six small requests that show what an engine's prefix cache does, whatever its documentation says."""

from __future__ import annotations

import re
import secrets
from collections import Counter as Counts
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Literal

from replayer.engines.base import Tristate
from replayer.signals.prefix_reuse.tokens import ideal_reuse
from replayer.wire.types import JsonObject

Counter = Literal["works", "broken", "not_reported", "unknown"]
Message = JsonObject

WORDS = 1100
"""About 1,150 tokens: two blocks of 528 and a rest, so that even those show (vLLM #40696)."""

_WORDS = re.findall(
    r"\w+",
    "time year life hand part case week work home room area book word side kind head door line game team body back face "
    "name city idea road form food land king town wall fire hour film tree farm bank rate ship",
)
"""Words of one length, one token each in most vocabularies: so a prompt's length follows from its words."""

_BLOCKS = (1, 2, 4, *range(8, 16_384, 8))
"""Sizes that engines have: a page of 1, powers of two, and the multiples of 8 that hybrid models come to (528, 2096)."""

_SMALLEST_WITH_BACKOFF = 16

_TAIL = 24
"""Most tokens that a template may put behind the user's text (end of message, generation prompt, empty `<think>`)."""

_FAST, _SLOW = 0.6, 0.85
_CLEAR_NS = 5_000_000


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """What came of one request. `metrics_cached` is the change of the engine's counter of cached tokens."""

    prompt_tokens: int | None
    cached_tokens: int | None
    ttft_ns: int | None
    metrics_cached: float | None = None


Chat = Callable[[list[Message]], Awaitable[ProbeReply]]
"""Sends messages with `max_tokens` 1 and no cache salt while nothing else runs on the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """`block_size` is None where it stays open; `block_sizes` then holds what fits all that was seen."""

    caching: Tristate
    counter: Counter
    block_size: int | None
    block_sizes: tuple[int, ...] = ()
    speculative_backoff: Tristate = "unknown"
    second_sighting_needed: Tristate = "unknown"
    requests: list[JsonObject] = field(default_factory=list)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a cache might round: whole blocks, and one less with speculation."""

    block: int
    backoff: bool

    def reuse(self, shared: int, prompt: int) -> int:
        return ideal_reuse(shared, prompt, self.block, speculative_backoff=self.backoff)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A reply with the range in which its shared prefix lies."""

    low: int
    high: int
    prompt: int
    cached: int

    def fits(self, rule: _Rule) -> bool:
        ends = (rule.reuse(self.low, self.prompt), rule.reuse(self.high, self.prompt))
        return ends[0] <= self.cached <= ends[1] and self.cached % rule.block == 0


async def probe_prefix_cache(chat: Chat) -> ProbeResult:
    """Ask the same thing again (a third time if it must), with its last tenth changed, and cut short.

    A random word begins the prompt, so that nothing of it is cached from before. Errors of `chat` are passed on.
    """
    return await _Probe(chat, secrets.token_hex(8)).run()


class _Probe:
    def __init__(self, chat: Chat, nonce: str) -> None:
        self._chat = chat
        random = Random(nonce)
        self._text = [f"{nonce}:", *random.choices(_WORDS, k=WORDS)]
        self._other = random.choices(_WORDS, k=WORDS)
        self._replies: list[tuple[str, ProbeReply]] = []
        self._seen: list[_Seen] = []
        self._per_word = 1.0

    async def run(self) -> ProbeResult:
        first = await self._ask("first", self._text)
        again = await self._ask("again", self._text)
        third = None if _cached(again) else await self._ask("third", self._text)
        for reply in (again, third):
            self._note_repeat(reply)
        kept = len(self._text) * 9 // 10
        other = self._other[: (len(self._text) - kept) // 2]
        changed = await self._ask("last tenth changed", self._text[:kept] + other)
        self._note_changed(changed, kept, first)
        if first.prompt_tokens and changed.prompt_tokens:
            shorter = len(self._text) - kept - len(other)
            self._per_word = (first.prompt_tokens - changed.prompt_tokens) / shorter
        await self._ask_cut_twice(first, kept, trusted=third is None)
        return self._result(third)

    async def _ask_cut_twice(self, first: ProbeReply, upper: int, *, trusted: bool) -> None:
        """A shorter prompt and its repeat; where no third sighting was needed, one that is shorter still."""
        length = self._telling_cut(first, upper, range(-3, 4))
        self._note_cut(await self._ask("cut short", self._text[:length]), trusted)
        self._note_repeat(await self._ask("cut short again", self._text[:length]), trusted)
        if trusted:
            length = self._telling_cut(first, length, range(-_TAIL - 4, 5, 4))
            self._note_cut(await self._ask("cut shorter", self._text[:length]), trusted)

    async def _ask(self, name: str, words: Sequence[str]) -> ProbeReply:
        reply = await self._chat([{"role": "user", "content": " ".join(words)}])
        self._replies.append((name, reply))
        return reply

    def _note_repeat(self, reply: ProbeReply | None, trusted: bool = False) -> None:
        """All of the prompt was there: the one case in which the shared length is known for certain.

        No hit at all says something of rounding only when a repeat is `trusted` to hit: else the cache may be off,
        or want a further sighting.
        """
        if reply and reply.prompt_tokens and (_cached(reply) or (trusted and _cached(reply) == 0)):
            self._note(reply, reply.prompt_tokens, reply.prompt_tokens)

    def _note_cut(self, reply: ProbeReply, trusted: bool) -> None:
        """The start of the prompt was there, but for what the template puts behind it."""
        if self._seen and reply.prompt_tokens and (_cached(reply) or (trusted and _cached(reply) == 0)):
            self._note(reply, reply.prompt_tokens - _TAIL, reply.prompt_tokens - 1)

    def _note(self, reply: ProbeReply, low: int, high: int) -> None:
        self._seen.append(_Seen(low, high, reply.prompt_tokens or 0, _cached(reply) or 0))

    def _note_changed(self, reply: ProbeReply, words: int, first: ProbeReply) -> None:
        """The changed text begins as the first: some tokens about the cut are uncertain."""
        if not self._seen or not first.prompt_tokens or not _cached(reply):
            return
        middle = first.prompt_tokens * words // len(self._text)
        self._note(reply, middle - middle // 20 - _TAIL, middle + middle // 20 + _TAIL)

    def _rules(self) -> list[_Rule]:
        if not self._seen:
            return []
        rules = [_Rule(block, False) for block in _BLOCKS]
        rules += [_Rule(block, True) for block in _BLOCKS if block >= _SMALLEST_WITH_BACKOFF]
        return [rule for rule in rules if all(seen.fits(rule) for seen in self._seen)]

    def _telling_cut(self, first: ProbeReply, upper: int, spread: range) -> int:
        """The length, up to `upper`, that the rules still in question would answer most differently.

        `spread` is how far the shared tokens may lie from those foreseen.

        It is shorter than what was asked before, for an engine with one slot remembers its last prompt only.
        """
        rules = self._rules()
        if len(rules) < 2 or not first.prompt_tokens:
            return upper * 2 // 3
        prompt_tokens, per_word = first.prompt_tokens, self._per_word

        def undecided(length: int) -> int:
            prompt = prompt_tokens - round((len(self._text) - length) * per_word)
            groups = (Counts(rule.reuse(prompt + n, prompt + n) for rule in rules) for n in spread)
            return sum(max(group.values()) for group in groups)

        return _middle_of_best(range(upper // 2, upper - _TAIL), undecided)

    def _result(self, third: ProbeReply | None) -> ProbeResult:
        rules = self._rules()
        blocks = tuple(sorted({rule.block for rule in rules}))
        caching, counter, notes = _caching([reply for _, reply in self._replies])
        return ProbeResult(
            caching=caching,
            counter=counter,
            block_size=blocks[0] if len(blocks) == 1 else None,
            block_sizes=blocks if len(blocks) <= 16 else (),
            speculative_backoff=_agreed([rule.backoff for rule in rules]),
            second_sighting_needed="no" if third is None else "yes" if _cached(third) else "unknown",
            requests=[{"name": name, **asdict(reply)} for name, reply in self._replies],
            notes=notes,
        )


def _cached(reply: ProbeReply) -> int | None:
    """The engine's word, or its counter where it says nothing or 0."""
    counted = round(reply.metrics_cached) if reply.metrics_cached is not None else None
    return reply.cached_tokens or (counted if counted else reply.cached_tokens)


def _caching(replies: Sequence[ProbeReply]) -> tuple[Tristate, Counter, tuple[str, ...]]:
    """Whether it caches and whether it says so, from the counts and, apart from them, the times."""
    counts = [reply.cached_tokens for reply in replies[1:]]
    counted = any(reply.metrics_cached for reply in replies[1:])
    timed = _timed(replies)
    reported = any(count is not None for count in counts)
    if any(counts):
        notes = () if timed != "no" else ("cached tokens are reported, but a repeat was not faster",)
        return "yes", "works", notes
    counter: Counter = "broken" if reported else "not_reported"
    if counted:
        return "yes", counter, ("the metrics count cached tokens, usage does not",)
    if timed == "yes":
        return "yes", counter, ("a repeat came much faster, though no cached tokens were reported",)
    if timed == "no":
        return "no", "unknown" if reported else "not_reported", ()
    longest = max((reply.prompt_tokens or 0 for reply in replies), default=0)
    return (
        "no" if reported else "unknown",
        "unknown" if reported else "not_reported",
        (f"no hit within {longest} tokens and times too close to decide: off, or blocks longer than that",),
    )


def _timed(replies: Sequence[ProbeReply]) -> Tristate:
    """Whether repeats came faster than the first request."""
    cold = replies[0].ttft_ns
    warm = [reply.ttft_ns for reply in replies[1:3] if reply.ttft_ns is not None]
    if cold is None or not warm:
        return "unknown"
    best = min(warm)
    if best < _FAST * cold and cold - best > _CLEAR_NS:
        return "yes"
    return "no" if best > _SLOW * cold and cold > 4 * _CLEAR_NS else "unknown"


def _middle_of_best(lengths: range, cost: Callable[[int], int]) -> int:
    """The middle of the longest run of lengths that cost least: what was foreseen may be some tokens off."""
    costs = [cost(length) for length in lengths]
    least, run, best = min(costs), 0, (0, lengths[0])
    for length, value in zip(lengths, costs, strict=True):
        run = run + 1 if value == least else 0
        best = max(best, (run, length - run // 2))
    return best[1]


def _agreed(values: Sequence[bool]) -> Tristate:
    if not values or len(set(values)) > 1:
        return "unknown"
    return "yes" if values[0] else "no"
