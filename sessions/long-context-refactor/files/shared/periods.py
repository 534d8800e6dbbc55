"""Months and quarters."""

from datetime import date


def quarter(day: date) -> str:
    return f"{day.year}Q{(day.month + 2) // 3}"


def month(day: date) -> str:
    return f"{day.year}-{day.month:02}"
