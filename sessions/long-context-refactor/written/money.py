"""Amounts of money: whole cents of a euro (decision 14)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation


@dataclass(frozen=True, order=True)
class Money:
    cents: int

    @classmethod
    def of(cls, text: str) -> Money:
        """`19.99` or `20`. Raises ValueError for what is no amount, and for a fraction of a cent."""
        try:
            cents = Decimal(text) * 100
            whole = int(cents)
        except (InvalidOperation, OverflowError, TypeError) as error:
            raise ValueError(f"no amount of money: {text!r}") from error
        if whole != cents:
            raise ValueError(f"a fraction of a cent: {text!r}")
        return cls(whole)

    def __add__(self, other: Money) -> Money:
        return Money(self.cents + other.cents) if isinstance(other, Money) else NotImplemented

    def __sub__(self, other: Money) -> Money:
        return Money(self.cents - other.cents) if isinstance(other, Money) else NotImplemented

    def __neg__(self) -> Money:
        return Money(-self.cents)

    def __mul__(self, factor: float) -> Money:
        """Rounded to the even cent."""
        if isinstance(factor, Money):
            return NotImplemented
        exact = self.cents * Decimal(repr(factor))
        return Money(int(exact.quantize(Decimal(1), ROUND_HALF_EVEN)))

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        return self.cents != 0

    def __str__(self) -> str:
        return f"{self.cents // 100}.{self.cents % 100:02}"

    def split(self, parts: int) -> list[Money]:
        """Parts that add up to the whole, the larger ones first."""
        share, left = divmod(self.cents, parts)
        return [Money(share + (number < left)) for number in range(parts)]


ZERO = Money(0)


def stored(record: dict, key: str) -> Money:
    """An amount from a file: whole cents, or euros as a float in files from before decision 14."""
    if f"{key}_cents" in record:
        return Money(record[f"{key}_cents"])
    return Money(round(record[key] * 100))
