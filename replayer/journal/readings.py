"""Readings of a lane's server over a run."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Sequence
from typing import overload
from zlib import compress, decompress

from replayer.journal.events import TelemetryRead

_READINGS = 32
"""Those that are packed together. A reading takes 6 KB as it is."""
_MOST_READINGS = 4096
"""Kept of a lane."""


class Readings(Sequence[TelemetryRead]):
    """Readings of a lane's server, older ones packed if that is wanted."""

    def __init__(
        self, readings: Iterable[TelemetryRead] = (), boxes: Iterable[bytes] = (), *, packs: bool = False
    ) -> None:
        self._boxes, self._new, self._packs = list(boxes), list[TelemetryRead](), packs
        for reading in readings:
            self.append(reading)

    def append(self, reading: TelemetryRead) -> None:
        self._new.append(reading)
        if self._packs and len(self._new) >= 2 * _READINGS:
            facts = [(one.at, one.lane, one.instance, one.sample) for one in self._new[:_READINGS]]
            self._boxes.append(compress(marshal.dumps(facts)))
            del self._new[:_READINGS]

    def and_then(self, reading: TelemetryRead) -> Readings:
        """With one more; of too many, the older ones are thinned out."""
        self.append(reading)
        return Readings(_thinned(list(self)), packs=self._packs) if len(self) > _MOST_READINGS else self

    def frozen(self) -> Sequence[TelemetryRead]:
        """Those of now."""
        return Readings(self._new, self._boxes) if self._boxes else tuple(self._new)

    def __len__(self) -> int:
        return len(self._boxes) * _READINGS + len(self._new)

    def __iter__(self) -> Iterator[TelemetryRead]:
        for box in self._boxes:
            for at, lane, instance, sample in marshal.loads(decompress(box)):
                yield TelemetryRead(at=at, lane=lane, instance=instance, sample=sample)
        yield from self._new

    @overload
    def __getitem__(self, place: int) -> TelemetryRead: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[TelemetryRead]: ...
    def __getitem__(self, place: int | slice) -> TelemetryRead | Sequence[TelemetryRead]:
        return tuple(self)[place]


def _thinned(samples: list[TelemetryRead]) -> list[TelemetryRead]:
    """Every second reading, and the first and last of each instance, so that its counters lose nothing."""
    firsts = {sample.instance: at for at, sample in reversed(list(enumerate(samples)))}
    lasts = {sample.instance: at for at, sample in enumerate(samples)}
    ends = {*firsts.values(), *lasts.values()}
    return [sample for at, sample in enumerate(samples) if at % 2 == 0 or at in ends]
