"""Loops that span the turns of a session: the same thought or answer, turn after turn.

Exact repeats and near-repeats alike: texts are compared by the overlap (Jaccard) of their word trigrams, four alike
within the last sixteen being a loop (the thresholds that oh-my-pi calibrated on 13,500 sound blocks). Calls that
repeat are another signal's business (`call_loops`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from replayer.signals.base import Signal, TurnFacts
from replayer.signals.repetition.finding import UNIT_CHARS, Finding

TURNS = 16
ALIKE = 0.8
SUSPECT_AFTER = 3
LOOP_AFTER = 4
WORDS = 12
"""Shorter texts ("Let me look at the tests.") are said again and again for good reasons."""
SHINGLES = 2000


class RepetitionMemory(Signal):
    """One session's replies in order; state is the word trigrams of at most sixteen texts per channel."""

    name = "repetition_memory"
    version = 1

    def __init__(self) -> None:
        self._past: dict[str, deque[frozenset[int]]] = {}
        self._first: dict[str, str] = {}
        """The first text of a channel, until there is another to compare it with."""

    def after_turn(self, turn: TurnFacts) -> list[Finding]:
        """Compare a reply with those before. What the recorded turn repeats itself is not held against it."""
        found, recorded = [], turn.recorded
        for channel, text in (("reasoning", turn.reply.reasoning), ("content", turn.reply.content)):
            alike, share = self._alike(channel, text)
            if alike < SUSPECT_AFTER or (recorded is not None and text.strip() and text.strip() in recorded):
                continue
            found.append(
                Finding(
                    kind="turns",
                    level="collapsed" if alike >= LOOP_AFTER else "suspect",
                    channel=channel,
                    call_index=-1,
                    onset=0,
                    detected_at=len(text),
                    period=None,
                    unit=text[:UNIT_CHARS],
                    wasted_chars=len(text),
                    confidence=round(share, 3),
                    note=f"{alike} of the last {TURNS} turns say nearly the same",
                )
            )
        return found

    def _alike(self, channel: str, text: str) -> tuple[int, float]:
        """How many of the last turns, this one counted, are nearly this text, and the least overlap among them."""
        if channel not in self._past:
            if len(text.split(maxsplit=WORDS)) < WORDS:
                return 0, 0.0
            self._past[channel], self._first[channel] = deque(maxlen=TURNS - 1), text
            return 1, 1.0
        past, first = self._past[channel], _shingles(self._first.pop(channel, ""))
        shingles = _shingles(text)
        if first is not None:
            past.append(first)
        if shingles is None:
            return 0, 0.0
        overlaps = [share for earlier in past if (share := _overlap(shingles, earlier)) >= ALIKE]
        past.append(shingles)
        return len(overlaps) + 1, min(overlaps, default=1.0)


def _overlap(one: frozenset[int], other: frozenset[int]) -> float:
    if min(len(one), len(other)) < ALIKE * max(len(one), len(other)):
        return 0.0
    return len(one & other) / len(one | other)


def _shingles(text: str) -> frozenset[int] | None:
    words = text.lower().split()
    if len(words) < WORDS:
        return None
    triples: Iterable[tuple[str, str, str]] = zip(words, words[1:], words[2:], strict=False)
    if len(words) > SHINGLES:
        triples = islice(dict.fromkeys(triples), SHINGLES)
    return frozenset(map(hash, triples))
