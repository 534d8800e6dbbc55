"""What a recording with millions of lines needs: tables of about 40 bytes an entry, where a dict takes 250, and rest from
the garbage collector."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_FIRST_SLOTS = 1 << 6


class Index:
    """Numbers keys from 0 in the order in which they come. Keys are not kept, only two hashes of 64 bits of each."""

    def __init__(self) -> None:
        self._count = 0
        self._recent: tuple[str | bytes, int] = b"", -1
        """The last key and its number: most are asked for several times in a row."""
        self._make(_FIRST_SLOTS)

    def __len__(self) -> int:
        return self._count

    def find(self, key: str | bytes) -> int:
        """The number of a key, -1 where it was never added."""
        if self._recent[0] == key:
            return self._recent[1]
        return self._numbers[self._slot(hash(key), hash(key[::-1]))]

    def add(self, key: str | bytes) -> int:
        """The number of a key, a new one where it is new: then it is the length of before."""
        if self._recent[0] == key:
            return self._recent[1]
        low, high = hash(key), hash(key[::-1])
        slot = self._slot(low, high)
        number = self._numbers[slot]
        if number < 0:
            number = self._count
            self._lows[slot], self._highs[slot], self._numbers[slot] = low, high, number
            self._count += 1
            if self._count * 2 > self._mask:
                self._grow()
        self._recent = key, number
        return number

    def _slot(self, low: int, high: int) -> int:
        numbers, lows, highs, mask = self._numbers, self._lows, self._highs, self._mask
        slot = low & mask
        while numbers[slot] >= 0 and (lows[slot] != low or highs[slot] != high):
            slot = (slot + 1) & mask
        return slot

    def _make(self, slots: int) -> None:
        self._mask = slots - 1
        self._lows, self._highs = array("q", bytes(8 * slots)), array("q", bytes(8 * slots))
        self._numbers = array("i", b"\xff" * (4 * slots))

    def _grow(self) -> None:
        old = zip(self._lows, self._highs, self._numbers, strict=True)
        self._make(2 * len(self._numbers))
        for low, high, number in old:
            if number >= 0:
                slot = self._slot(low, high)
                self._lows[slot], self._highs[slot], self._numbers[slot] = low, high, number


class Lists:
    """Short lists of numbers, appended once and read by place."""

    def __init__(self) -> None:
        self._ends = array("Q", [0])
        self._values = array("i")

    def append(self, values: Iterable[int]) -> int:
        """Returns the place."""
        self._values.extend(values)
        self._ends.append(len(self._values))
        return len(self._ends) - 2

    def __getitem__(self, place: int) -> array[int]:
        return self._values[self._ends[place] : self._ends[place + 1]]


@contextmanager
def uncollected() -> Iterator[None]:
    """For what makes millions of objects that last and no circles: going over them again and again is a quarter of a long
    report's time, and 8 % of an import's."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
