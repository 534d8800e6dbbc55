"""The load on a lane, kept up by several shards: it begins once all of them have begun, and ends with the last."""

from __future__ import annotations

from dataclasses import dataclass, field

from replayer.engines.base import Tristate
from replayer.journal.events import LoadEnded, LoadStarted

_WORST_FIRST = ("server_gone", "decided", "duration", "done")


@dataclass(slots=True)
class SharedLoad:
    """`of`: the shards that keep it up. Times are those of the run's journal."""

    lane: str
    sessions: int | None
    cache_reset: Tristate
    of: set[int]
    whole: bool = True
    """No shard was lost while it went on."""
    begun: dict[int, int] = field(default_factory=dict)
    ended: dict[int, tuple[int, str]] = field(default_factory=dict)
    _said: int = 0

    def lost(self, shard: int) -> None:
        if shard in self.of:
            self.of.discard(shard)
            self.whole = False

    def due(self) -> LoadStarted | LoadEnded | None:
        """What is to be journalled now, once. A load that lost a shard has no end: `resume` runs it again."""
        if self._said == 0 and self.of and self.of <= self.begun.keys():
            self._said = 1
            at = max(self.begun[shard] for shard in self.of)
            return LoadStarted(at=at, lane=self.lane, sessions=self.sessions, cache_reset=self.cache_reset)
        if self._said == 1 and self.whole and self.of <= self.ended.keys():
            self._said = 2
            outcomes = {outcome for _, outcome in self.ended.values()}
            at = max(at for at, _ in self.ended.values())
            return LoadEnded(at=at, lane=self.lane, outcome=next(o for o in _WORST_FIRST if o in outcomes))
        return None
