"""The list of signals: one line each."""

from __future__ import annotations

from replayer.lazy import LazyTable
from replayer.signals.base import Signal

SIGNALS: LazyTable[type[Signal]] = LazyTable(
    "replayer.signals",
    {
        "repetition": "repetition.detector:RepetitionDetector",
        "repetition_memory": "repetition.memory:RepetitionMemory",
        "call_loops": "call_loops:CallLoops",
        "prefix_reuse": "prefix_reuse.conclusion:PrefixReuseSignal",
    },
)


def every_signal() -> list[Signal]:
    """Fresh ones, for one attempt at a session."""
    return [signal() for signal in SIGNALS.values()]
