"""Repetition collapse, caught while a reply streams, on the client's side and on any engine, and loops over turns.

Method, figures and limits: `docs/repetition.md`.
"""

from replayer.signals.repetition.detector import RepetitionDetector, deltas_of, scan, scan_reply
from replayer.signals.repetition.finding import AT_THE_LIMIT, Finding
from replayer.signals.repetition.memory import RepetitionMemory

__all__ = [
    "AT_THE_LIMIT",
    "Finding",
    "RepetitionDetector",
    "RepetitionMemory",
    "deltas_of",
    "scan",
    "scan_reply",
]
