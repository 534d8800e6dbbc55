"""When the restaurant is open."""

from datetime import date, datetime

from core.times import at, local
from hours.models import ClosedDay, OpeningHours


def spans(day: date) -> list[tuple[datetime, datetime]]:
    """The aware spans in which we are open on `day`, in order; none on a closed day."""
    if ClosedDay.objects.filter(day=day).exists():
        return []
    found = OpeningHours.objects.filter(weekday=day.weekday())
    return [(at(day, one.opens), at(day, one.closes)) for one in found]


def is_open(moment: datetime) -> bool:
    return any(begin <= moment < end for begin, end in spans(local(moment).date()))


def closed_reason(day: date) -> str:
    """Why we are closed on `day`, empty where there is no special reason."""
    closed = ClosedDay.objects.filter(day=day).first()
    return closed.reason if closed else ""
