"""Pay for hours worked."""

from payroll.models import Week
from shared.periods import month


def pay(week: Week) -> float:
    """Hours of the contract at the plain rate, those beyond at the rate for overtime, and expenses."""
    normal = min(week.hours, week.contract)
    extra = week.hours - normal
    worked = normal * week.person.hourly + extra * week.person.hourly * week.person.overtime
    return round(worked + week.expenses, 2)


def by_month(weeks: list[Week]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for week in weeks:
        key = month(week.monday)
        sums[key] = round(sums.get(key, 0.0) + pay(week), 2)
    return sums


def average_hour(weeks: list[Week]) -> float:
    """What an hour has cost on average, expenses not counted. 0 where nobody worked."""
    hours = sum(week.hours for week in weeks)
    cost = sum(pay(week) - week.expenses for week in weeks)
    return round(cost / hours, 2) if hours else 0.0
