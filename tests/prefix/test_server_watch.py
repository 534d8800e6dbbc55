"""One server's watch over a simulated cache whose every hit is known: subagents, restarts, resets, other clients."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from typing import Any

import orjson
import pytest

from replayer.engines.base import EngineFacts
from replayer.prefix.server_watch import Answer, ServerWatch
from replayer.signals.prefix_reuse.finding import PrefixFinding
from replayer.simulated.cache import PrefixCache
from replayer.simulated.token_bytes import WIDTH, render
from replayer.traces.schema import Usage

Messages = list[dict[str, Any]]


class World:
    """A server, its cache, and what the watch says of each request. Time goes on by one at every step."""

    def __init__(self, *, pool: int = 1_000_000, block: int = 16) -> None:
        self.cache = PrefixCache(block, pool)
        self.watch = ServerWatch(
            EngineFacts(kind="vllm", base_url="http://127.0.0.1:1/v1", block_size=block, kv_pool_tokens=pool),
            "http://127.0.0.1:1",
        )
        self.found: list[PrefixFinding] = []
        self.clock = 0
        self.turns: Counter[str] = Counter()

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def begin(self, thread: str, messages: Messages, salt: str = "") -> tuple[str, int, int, int]:
        """Send a request; its key, its time, its tokens and what the cache had of it."""
        key = f"{thread}/{self.turns[thread]}"
        self.turns[thread] += 1
        sent, prompt = self.tick(), render(messages, None)
        body = orjson.dumps({"model": "m", "messages": messages, "cache_salt": salt})
        self.watch.asked(key, thread, body, sent)
        cached = self.cache.match(prompt, salt=salt)
        self.cache.insert(prompt, salt=salt)
        return key, sent, len(prompt) // WIDTH, cached

    def end(self, key: str, sent: int, tokens: int, cached: int) -> PrefixFinding:
        answer = Answer(
            message={"role": "assistant", "content": "Done."},
            usage=Usage(prompt_tokens=tokens, cached_tokens=cached, completion_tokens=4),
            sent=sent,
            first=self.tick(),
            ended=self.tick(),
            complete=True,
        )
        found = self.watch.answered(key, answer)
        assert found is not None
        self.found.append(found)
        return found

    def turn(self, thread: str, messages: Messages, salt: str = "") -> PrefixFinding:
        return self.end(*self.begin(thread, messages, salt))

    @property
    def causes(self) -> set[str | None]:
        return {found.cause for found in self.found}


def grown(name: str, turns: int) -> Messages:
    """A conversation after some turns; the first messages of a longer one are those of a shorter one."""
    messages = [{"role": "system", "content": f"You are {name}. " * 40}]
    for turn in range(turns):
        messages += [
            {"role": "user", "content": f"{name} {turn}: " + "what now? " * 30},
            {"role": "assistant", "content": f"{name} says {turn}: " + "this and that. " * 20},
        ]
    return [*messages, {"role": "user", "content": f"{name}, go on: {turns}"}]


@pytest.mark.parametrize("block", [1, 16, 64, 128])
def test_subagents_beside_the_main_line(block: int) -> None:
    world = World(block=block)
    for turn in range(6):
        world.turn("s#1", grown("main", turn))
        for agent in ("search", "edit"):
            world.turn("s#1", grown(agent, turn))
    assert world.causes <= {None, "block_granularity"}
    assert all(found.above == 0 for found in world.found)


def test_sixty_four_sessions_that_overlap() -> None:
    world = World()
    for turn in range(5):
        open_ = [
            world.begin(f"s{n}#1", grown(f"agent {n % 8}", turn), f"salt{n}" if n % 2 else "")
            for n in range(64)
        ]
        for one in reversed(open_):
            world.end(*one)
    assert world.causes == {None}
    assert all(found.least is not None and found.most is not None for found in world.found)
    assert all(found.least <= (found.reported_tokens or 0) <= found.most + 8 for found in world.found)  # type: ignore[operator]


def test_a_restart_is_no_ones_cause() -> None:
    world = World()
    for turn in range(8):
        if turn == 4:
            key, sent, *_ = world.begin("s#1", grown("main", turn))
            world.watch.failed(key, sent, lost=True)
            world.cache.clear()
        world.turn("s#1", grown("main", turn))
    assert world.causes == {None}
    assert world.found[4].reported_tokens == 0
    assert world.found[5].reported_tokens


def test_a_restart_that_only_the_counters_show() -> None:
    world = World()
    for turn, counted in enumerate([100.0, 900.0, 2000.0, 3500.0]):
        world.turn("s#1", grown("main", turn))
        world.watch.sampled("a", {"prompt_tokens": counted}, world.tick())
    world.cache.clear()
    world.watch.sampled("a", {"prompt_tokens": 10.0}, world.tick())
    assert world.turn("s#1", grown("main", 4)).cause is None
    assert world.turn("s#1", grown("main", 5)).cause is None


def test_our_own_reset_is_known_and_one_in_flight_is_doubted() -> None:
    world = World()
    world.turn("s#1", grown("main", 3))
    world.cache.clear()
    world.watch.reset(world.tick())
    assert world.turn("s#1", grown("main", 4)).ideal_tokens == 0
    busy = world.begin("t#1", grown("other", 2))
    world.cache.clear()
    world.watch.reset(world.tick())
    world.end(*busy)
    assert world.turn("s#1", grown("main", 5)).cause is None


def test_reuse_that_nothing_of_ours_explains_is_a_finding_of_its_own() -> None:
    world = World()
    world.cache.insert(render(grown("main", 6), None))
    found = world.turn("s#1", grown("main", 6))
    assert found.cause is None
    assert found.above > 500
    assert "had sent at most" in found.disagreements[0]


def test_what_was_evicted_does_not_come_back_with_a_reply() -> None:
    """Six sessions ask at the same time on a pool that holds two of them, and each goes on as soon as it has its reply."""
    world = World(pool=2000)
    open_ = {n: world.begin(f"s{n}#1", grown(f"agent {n}", 0)) for n in range(6)}
    for turn in range(1, 7):
        for n in range(6):
            world.end(*open_[n])
            open_[n] = world.begin(f"s{n}#1", grown(f"agent {n}", turn))
    late = [found for found in world.found if found.expected > 400]
    prompt, reused = (
        sum(found.prompt_tokens for found in late),
        sum(found.reported_tokens or 0 for found in late),
    )
    assert len(late) > 12 and reused < prompt / 10, "the pool is too small"
    assert sum(found.ideal_tokens for found in late) < prompt / 4
    assert sum(found.evicted_tokens or 0 for found in late) > prompt / 2
    assert "eviction" in world.causes <= {None, "eviction"}


def test_another_clients_traffic_that_pushes_ours_out_stays_unknown() -> None:
    """The pool's model knows only what this run sent: it has no evidence, so it names no cause."""
    world = World(pool=4000)
    world.turn("s#1", grown("main", 2))
    for n in range(20):
        world.cache.insert(render(grown(f"stranger {n}", 3), None))
    found = world.turn("s#1", grown("main", 3))
    assert (found.cause, found.reported_tokens) == ("unknown", 0)
    assert not found.evidence


def test_ended_sessions_leave_nothing_behind() -> None:
    """A run of hours has thousands of sessions, each with a salt of its own."""
    world = World(pool=2_000)

    def sessions(first: int, number: int) -> int:
        for n in range(first, first + number):
            for turn in (1, 2):
                world.turn(f"s{n}", grown("an agent", turn), salt=f"salt {n}")
            world.watch.ended(f"s{n}")
            world.found.clear()
            world.turns.clear()
        return tracemalloc.get_traced_memory()[0]

    sessions(0, 100)  # what is kept of the last sessions is full
    tracemalloc.start()
    before = sessions(100, 100)
    grown_by = sessions(200, 200) - before
    tracemalloc.stop()
    assert grown_by < 1_000_000
