"""The protocol of all signals: pure observers that know neither HTTP nor the journal."""

from __future__ import annotations

from typing import Any, Protocol

from replayer.wire.types import Delta, Reply


class Signal(Protocol):
    """Fed with a reply as it arrives; states findings as serialisable data.

    One instance watches one reply. `feed` may return findings (an alarm) at once; the runner decides
    whether to act on them.
    """

    name: str
    version: int

    def feed(self, delta: Delta) -> list[dict[str, Any]]: ...

    def finish(self, reply: Reply) -> list[dict[str, Any]]: ...
