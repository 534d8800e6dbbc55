"""Dates and times of the restaurant. Everything here is aware and in the restaurant's zone."""

from datetime import date, datetime, time, timedelta

from django.utils import timezone

QUARTER = timedelta(minutes=15)


def local(moment: datetime) -> datetime:
    """The same moment as the clock in the dining room shows it."""
    return timezone.localtime(moment)


def at(day: date, clock: time) -> datetime:
    """The aware moment at which the dining room's clock shows `clock` on `day`."""
    return timezone.make_aware(datetime.combine(day, clock))


def quarters(begin: datetime, end: datetime):
    """Every quarter hour from `begin` (rounded up) to before `end`."""
    minute = -(-begin.minute // 15) * 15
    moment = begin.replace(minute=0, second=0, microsecond=0) + timedelta(minutes=minute)
    while moment < end:
        yield moment
        moment += QUARTER
