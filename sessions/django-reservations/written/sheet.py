"""The staff's page of a day: who comes when, and how full the house is."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from core.times import at, quarters
from floor.models import Table
from hours.services import spans
from reservations.models import Reservation, Status


@dataclass(frozen=True)
class Quarter:
    begin: datetime
    seats_taken: int
    seats: int

    @property
    def share(self) -> int:
        """Percent of all seats."""
        return round(100 * self.seats_taken / self.seats) if self.seats else 0


@dataclass(frozen=True)
class Sheet:
    day: date
    bookings: list[Reservation]
    quarters: list[Quarter]

    @property
    def guests(self) -> int:
        return sum(one.party for one in self.bookings if one.status == Status.BOOKED)


def sheet(day: date) -> Sheet:
    """Everything about one day, cancelled bookings left out."""
    begin = at(day, datetime.min.time())
    bookings = list(
        Reservation.objects.overlapping(begin, begin + timedelta(days=1)).exclude(status=Status.CANCELLED)
    )
    seats = sum(Table.objects.filter(in_service=True).values_list("seats", flat=True))
    rows = [
        Quarter(moment, taken(bookings, moment), seats)
        for opens, closes in spans(day)
        for moment in quarters(opens, closes)
    ]
    return Sheet(day, bookings, rows)


def taken(bookings: list[Reservation], moment: datetime) -> int:
    return sum(
        one.party for one in bookings if one.status == Status.BOOKED and one.begins <= moment < one.ends
    )
