"""How much tax there is in an amount, and on it."""

from taxes.models import Line, Rate


def tax_on(amount: float, rate: Rate) -> float:
    """The tax that comes on top of a net amount."""
    return round(amount * rate.value / 100, 2)


def tax_in(gross: float, rate: Rate) -> float:
    """The tax that a gross amount contains."""
    return round(gross - gross / (1 + rate.value / 100), 2)


def by_rate(lines: list[Line]) -> dict[Rate, float]:
    """Tax of an invoice: computed on the sum of each rate, not line by line."""
    sums: dict[Rate, float] = {}
    for line in lines:
        sums[line.rate] = sums.get(line.rate, 0.0) + line.amount
    return {rate: tax_on(amount, rate) for rate, amount in sums.items()}


def gross(lines: list[Line]) -> float:
    return round(sum(line.amount for line in lines) + sum(by_rate(lines).values()), 2)
