"""Figures over all departments. The only place that may know more than one of them."""

import csv
import importlib
import io
import statistics
from datetime import date

from shared.periods import quarter

DEPARTMENTS = ("bills", "invoices", "orders", "tickets")


def totals(many: list) -> list[float]:
    return [service_of(one).total(one) for one in many]


def service_of(one):
    return importlib.import_module(type(one).__module__.replace(".models", ".service"))


def by_quarter(many: list) -> dict[str, float]:
    sums: dict[str, float] = {}
    for one, amount in zip(many, totals(many), strict=True):
        key = quarter(one.made)
        sums[key] = round(sums.get(key, 0.0) + amount, 2)
    return sums


def median(many: list) -> float:
    """0 for none."""
    return round(statistics.median(totals(many)), 2) if many else 0.0


def as_csv(many: list, today: date) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "made", "days", "total"])
    for one, amount in zip(many, totals(many), strict=True):
        writer.writerow([one.id, one.made.isoformat(), (today - one.made).days, f"{amount:.2f}"])
    return out.getvalue()


def share(part: list, whole: list) -> float:
    """How much of the whole a part is, in percent."""
    all_of_it = sum(totals(whole))
    return round(100 * sum(totals(part)) / all_of_it, 1) if all_of_it else 0.0
