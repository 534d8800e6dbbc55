"""What the signal states of one request: the ideal, what was reported, and the reason for the gap."""

from __future__ import annotations

from typing import Literal

from replayer.lazy import dataclass
from replayer.signals.prefix_reuse.causes import Cause
from replayer.signals.prefix_reuse.divergence import Divergence
from replayer.wire.types import JsonObject

Witness = Literal["cached", "recomputed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReuse:
    """What is known before the engine answers. All figures are tokens of `token_source`."""

    key: str
    prompt_tokens: int
    shared: int
    """Longest prefix shared with any earlier request of the lane or what was generated for it."""
    ideal: int
    """What the engine could at best reuse: own block size, speculative back-off, capacity."""
    ideal_by_block_size: dict[int, int]
    """For blocks of 1, 16 and the engine's own, with no bound on the pool."""
    evicted: int = 0
    """Tokens of the ideal that a pool of the known capacity no longer holds."""
    bounded: bool = False
    """Whether the pool's capacity is known."""
    shared_generated: int = 0
    """How much of `shared` lies in what was generated for the request that this one continues."""
    expected: int = 0
    """What a request that only appends to the one it continues would share."""
    previous: str | None = None
    """Key of the request that this one continues."""
    best: str | None = None
    """Key of the earlier request with which the longest prefix is shared."""
    divergence: Divergence | None = None
    mark_left: str | None = None
    """Where the request that this one continues had a `cache_control` mark that is gone now."""
    token_source: str = "engine"
    recency: int | None = None
    """Tokens that took room in the pool since the shared prefix was last used, those of requests on their way included.
    None: the pool is not known."""
    recency_limit: int | None = None
    """What the pool can hold."""
    near: bool = True
    """Whether so little took room since that the prefix is surely held still, or the pool is not known."""
    pool_evicts: bool = False
    """Whether the model of the pool has evicted anything yet."""
    others: int | None = None
    """Other threads that asked since this one last did. None: this is its first request."""

    @property
    def lost(self) -> int:
        """Tokens that the client or the template made the engine compute again."""
        return max(0, self.expected - self.shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a turn should have reused, in tokens as its engine counts them. Whole blocks, in the bounds of the pool."""

    prompt: int
    least: int
    """Surely in the cache when the request was sent."""
    ideal: int
    most: int
    """With what overlapping requests may have brought in time."""
    unbounded: int
    """The ideal, had the pool no limit."""
    shared: int
    """Before blocks and pool."""
    lost: int
    """What the client or the template changed."""
    error: int = 0
    """Tokens by which an estimate may be off; 0 where the engine's own tokens were compared."""


_ABSENT: JsonObject = {
    "key": "", "prompt_tokens": 0, "ideal_tokens": 0, "shared": 0, "expected": 0, "reported_tokens": None,
    "source": None, "gap": None, "cause": None, "lost_tokens": 0, "ideal_by_block_size": {},
}  # fmt: skip


@dataclass(slots=True, kw_only=True)
class PrefixFinding:
    """The serialisable finding of one turn. None is unknown, never 0. Not frozen: a report makes one for each turn, and
    setting 24 frozen fields takes three times as long."""

    key: str
    prompt_tokens: int
    ideal_tokens: int
    ideal_by_block_size: dict[int, int]
    shared: int
    expected: int
    reported_tokens: int | None
    source: Literal["usage", "metrics"] | None
    gap: int | None
    """Ideal minus reported."""
    cause: Cause | None
    lost_tokens: int
    """Tokens computed again for the sake of `cause`."""
    message_index: int | None = None
    path: str | None = None
    offset: int | None = None
    excerpt_before: str = ""
    excerpt_after: str = ""
    detail: str = ""
    previous: str | None = None
    witness: Witness | None = None
    """What the time to first token says, where it can tell."""
    disagreements: tuple[str, ...] = ()
    """Sources that contradict each other; they are shown, never averaged."""
    token_source: str = "engine"
    least: int | None = None
    """The range of what could be reused: from what was surely cached when the request was sent, by the error of the
    estimate; None where the finding is of an older version."""
    most: int | None = None
    evidence: tuple[str, ...] = ()
    """What the cause rests on."""
    above: int = 0
    """Tokens reused beyond the range: the cache was warm before the run, or the estimate is low."""
    evicted_tokens: int | None = None
    """Tokens that a pool without limit would still hold; they are not part of the ideal. None: the pool is not known."""

    @classmethod
    def from_dict(cls, data: JsonObject) -> PrefixFinding:
        """The inverse of `as_dict`, for findings read from a journal. Of another version's, keys that are not known
        here are left out, missing ones are unknown, and a cause stays as it is written."""
        sizes = {int(size): n for size, n in data.get("ideal_by_block_size", {}).items()}
        known = data if data.keys() <= _KNOWN else {key: data[key] for key in data if key in _KNOWN}
        found = cls(**{**_ABSENT, **known})
        found.ideal_by_block_size = sizes
        return found

    def as_dict(self) -> JsonObject:
        data = {name: getattr(self, name) for name in self.__slots__}  # `asdict` takes five times as long
        data["ideal_by_block_size"] = {str(size): n for size, n in self.ideal_by_block_size.items()}
        return data


_KNOWN = frozenset(PrefixFinding.__slots__)
