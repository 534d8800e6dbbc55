"""Who works here, and for how much."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Person:
    name: str
    hourly: float
    """Euros for an hour."""
    overtime: float = 1.25
    """Factor for hours beyond the contract."""


@dataclass(frozen=True)
class Week:
    person: Person
    monday: date
    hours: float
    contract: float = 38.5
    expenses: float = 0.0
    """Euros."""
