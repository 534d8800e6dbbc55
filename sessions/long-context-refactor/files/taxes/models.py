"""Value added tax."""

from dataclasses import dataclass
from enum import Enum


class Rate(Enum):
    """In percent."""

    NORMAL = 22.0
    REDUCED = 10.0
    BOOKS = 4.0
    NONE = 0.0


@dataclass(frozen=True)
class Line:
    """`amount` in euros, tax not included."""

    text: str
    amount: float
    rate: Rate = Rate.NORMAL
