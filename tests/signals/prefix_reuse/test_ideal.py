"""The computed ideal against a brute-force cache, over generated sessions."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.index import Node, Pool, RadixIndex
from replayer.signals.prefix_reuse.tokens import ideal_reuse, pack


class BruteForceCache:
    """Slow and obvious: every cached block is kept as the whole prefix that it ends. Shares no code with the signal."""

    def __init__(self, block_size: int, capacity: int | None = None, backoff: bool = False) -> None:
        self.block_size, self.capacity, self.backoff = block_size, capacity, backoff
        self.streams: list[Sequence[int]] = []
        self.blocks: dict[tuple[int, ...], tuple[int, int]] = {}
        self.clock = 0

    def longest_shared(self, prompt: Sequence[int]) -> int:
        best = 0
        for stream in self.streams:
            n, end = 0, min(len(stream), len(prompt))
            if stream[:end] == prompt[:end]:
                n = end
            while n < end and stream[n] == prompt[n]:
                n += 1
            best = max(best, n)
        return best

    def cached(self, prompt: Sequence[int]) -> int:
        """Cached tokens that an engine would report: whole blocks, never the last token."""
        blocks = 0
        while (blocks + 1) * self.block_size <= len(prompt) - 1:
            if tuple(prompt[: (blocks + 1) * self.block_size]) not in self.blocks:
                break
            blocks += 1
        if self.backoff:
            blocks = max(0, blocks - 1)
        return blocks * self.block_size

    def store(self, stream: Sequence[int]) -> None:
        self.clock += 1
        self.streams.append(list(stream))
        for block in range(len(stream) // self.block_size):
            self.blocks[tuple(stream[: (block + 1) * self.block_size])] = (self.clock, -block)
        while self.capacity is not None and len(self.blocks) > self.capacity // self.block_size:
            del self.blocks[min(self.blocks, key=lambda name: self.blocks[name])]


def sessions(seed: int, vocabulary: int, scale: int) -> list[tuple[list[int], list[int]]]:
    """Prompts with what was generated: continued, rewound, branched and fresh ones."""
    rnd = random.Random(seed)
    turns: list[tuple[list[int], list[int]]] = []
    for _ in range(rnd.randint(2, 10)):
        base: list[int] = []
        if turns and rnd.random() < 0.85:
            prompt, output = rnd.choice(turns[-4:])
            base = prompt + output
            if rnd.random() < 0.4:
                base = base[: rnd.randint(0, len(base))]
        fresh = [rnd.randrange(vocabulary) for _ in range(rnd.randint(0, scale))]
        output = [rnd.randrange(vocabulary) for _ in range(rnd.randint(1, max(1, scale // 4)))]
        turns.append((base + fresh, output))
    return turns


@pytest.mark.parametrize("backoff", [False, True])
@pytest.mark.parametrize("block_size", [1, 16, 128, 528])
def test_the_ideal_is_what_a_brute_force_cache_serves(block_size: int, backoff: bool) -> None:
    for seed in range(25):
        scale = random.Random(seed).choice([8, 60]) * min(block_size, 4)
        pool = random.Random(seed).choice([None, 3 * block_size, 12 * block_size])
        oracle = BruteForceCache(block_size, pool, backoff)
        reuse = PrefixReuse(block_size=block_size, capacity_tokens=pool, speculative_backoff=backoff)
        for number, (prompt, output) in enumerate(sessions(seed, 2 if seed % 2 else 50_000, scale)):
            turn = reuse.request(str(number), prompt)
            assert (turn.shared, turn.ideal) == (oracle.longest_shared(prompt), oracle.cached(prompt))
            oracle.store(prompt)
            reuse.generated(str(number), output)
            oracle.store(prompt + output[:-1])


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 10**9), block_size=st.integers(1, 5), pool=st.sampled_from([None, 4, 9, 20, 60]))
def test_small_blocks_and_pools(seed: int, block_size: int, pool: int | None) -> None:
    oracle = BruteForceCache(block_size, pool)
    reuse = PrefixReuse(block_size=block_size, capacity_tokens=pool)
    rnd = random.Random(seed)
    for number, (prompt, output) in enumerate(sessions(seed, 3, 9)):
        cut = rnd.randint(0, len(prompt))
        turn = reuse.request(str(number), [pack(prompt[:cut]), pack(prompt[cut:])])
        assert turn.shared == oracle.longest_shared(prompt)
        assert turn.ideal == oracle.cached(prompt)
        unbounded = ideal_reuse(turn.shared, len(prompt), block_size)
        assert turn.evicted == unbounded - turn.ideal
        oracle.store(prompt)
        reuse.generated(str(number), output)
        oracle.store(prompt + output[:-1])


@pytest.mark.parametrize("capacity", [4_000, 40_000, 10_000_000])
def test_sessions_that_ended_hold_their_room_in_the_pool_and_no_text(capacity: int) -> None:
    rnd = random.Random(5)
    kept, ended = (PrefixReuse(block_size=4, capacity_tokens=capacity) for _ in range(2))
    live: dict[str, list[int]] = {}
    for number in range(2_000):
        if len(live) == 6:
            gone = rnd.choice(list(live))
            del live[gone]
            ended.ended(gone)
        thread = rnd.choice([*live, f"session {number}"])
        prompt = live[thread] = live.get(thread, []) + [rnd.randrange(9) for _ in range(rnd.randint(1, 60))]
        output = [rnd.randrange(9) for _ in range(5)]
        found = []
        for reuse in (kept, ended):
            turn = reuse.request(str(number), prompt, thread=thread, scope=thread)
            reuse.generated(str(number), output)
            found.append((turn.shared, turn.ideal, turn.evicted, turn.pool_evicts, turn.recency))
        assert found[0] == found[1]
    assert turn.pool_evicts == (capacity < 100_000)


def test_captured_formulas() -> None:
    assert ideal_reuse(3646, 3646, 16) == 3632
    assert ideal_reuse(3694, 3694, 1) == 3693
    assert ideal_reuse(480, 520, 16) == 480
    assert ideal_reuse(480, 520, 528) == 0
    assert ideal_reuse(1000, 1000, 16, speculative_backoff=True) == 976
    assert ideal_reuse(0, 0) == 0


def test_the_index_forgets_old_branches_first_and_keeps_its_bound() -> None:
    index = RadixIndex(limit=10_000)
    for number in range(300):
        index.add([pack(range(number * 100_000, number * 100_000 + 200))])
    assert index.tokens <= 64 * 200 + 10_000
    assert index.forgotten > 0
    newest = pack(range(299 * 100_000, 299 * 100_000 + 200))
    assert index.add([newest])[0].depth == 200


def test_streams_forgotten_at_the_same_moment_keep_their_room() -> None:
    pool = Pool(RadixIndex(), 1, 100)
    for order in (7, 7):
        root = Node(b"", 0, None, 0)
        pool.condense([Node(b"abcdefgh", 2, root, order, used=3, resident=2)])
