"""The list of signals: one line each."""

from __future__ import annotations

from replayer.signals.base import Signal
from replayer.signals.call_loops import CallLoops
from replayer.signals.repetition import RepetitionDetector, RepetitionMemory
from replayer.signals.reuse import PrefixReuseSignal

SIGNALS: tuple[type[Signal], ...] = (RepetitionDetector, RepetitionMemory, CallLoops, PrefixReuseSignal)


def every_signal() -> list[Signal]:
    """Fresh ones, for one attempt at a session."""
    return [signal() for signal in SIGNALS]
