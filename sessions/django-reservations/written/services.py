"""The rules of booking a table (docs/reservations.md). `now` is given by tests; everybody else leaves it out."""

import re
from datetime import date, datetime, timedelta

from django.db import transaction
from django.utils import timezone

from core.errors import NotFound, RuleBroken
from core.times import local, quarters
from floor.models import Table
from hours.services import spans
from reservations.models import Reservation, Status

VISIT = timedelta(hours=2)
SOONEST = timedelta(hours=1)
FURTHEST = timedelta(days=60)
CANCEL_UNTIL = timedelta(hours=3)
LARGEST_PARTY = 8
MOST_PER_PHONE = 2
PHONE_OF_THE_HOUSE = "+39 06 555 0142"


def starts(day: date) -> list[datetime]:
    """Every quarter hour at which a visit can begin so that it ends while we are open."""
    return [moment for begin, end in spans(day) for moment in quarters(begin, end - VISIT)]


def offered(day: date, party: int, now: datetime | None = None) -> list[datetime]:
    """The times of `day` that a guest can choose for a party of this size."""
    now = now or timezone.now()
    return [moment for moment in starts(day) if in_reach(moment, now) and free_tables(moment, party).exists()]


def in_reach(moment: datetime, now: datetime) -> bool:
    return now + SOONEST <= moment <= now + FURTHEST


def free_tables(begin: datetime, party: int):
    """Tables that fit and are free for a whole visit, the smallest first."""
    taken = Reservation.objects.standing().overlapping(begin, begin + VISIT).values("table")
    return Table.objects.filter(in_service=True, seats__gte=party).exclude(pk__in=taken).order_by("seats", "number")


@transaction.atomic
def book(
    begin: datetime, party: int, name: str, phone: str, note: str = "", now: datetime | None = None
) -> Reservation:
    """Give the smallest free table that fits. Raises RuleBroken."""
    now = now or timezone.now()
    phone = normal_phone(phone)
    check_time(begin, now)
    check_party(party)
    check_phone(phone, now)
    table = free_tables(begin, party).first()
    if table is None:
        raise RuleBroken("That time has just been taken. Please choose another one.")
    return Reservation.objects.create(
        table=table, begins=begin, ends=begin + VISIT, party=party, name=name.strip(), phone=phone, note=note
    )


def check_time(begin: datetime, now: datetime) -> None:
    if begin < now + SOONEST:
        raise RuleBroken("Please book at least an hour ahead, or call us.")
    if begin > now + FURTHEST:
        raise RuleBroken(f"We take bookings for the next {FURTHEST.days} days only.")
    if begin not in starts(local(begin).date()):
        raise RuleBroken("We are not open for a whole visit at that time.")


def check_party(party: int) -> None:
    if not 1 <= party <= LARGEST_PARTY:
        raise RuleBroken(f"For more than {LARGEST_PARTY} guests please call us: {PHONE_OF_THE_HOUSE}.")


def check_phone(phone: str, now: datetime) -> None:
    held = Reservation.objects.standing().starting_from(now).filter(phone=phone).count()
    if held >= MOST_PER_PHONE:
        raise RuleBroken(f"There are {held} bookings for this number already. Cancel one of them first, or call us.")


def normal_phone(text: str) -> str:
    """`06 555-0142` as `+39065550142`. Raises RuleBroken where that is no number."""
    digits = re.sub(r"[\s()/.-]", "", text)
    if digits.startswith("00"):
        digits = f"+{digits[2:]}"
    if not digits.startswith("+"):
        digits = f"+39{digits}"
    if not re.fullmatch(r"\+\d{7,15}", digits):
        raise RuleBroken("Please give a telephone number that we can call.")
    return digits


def find(token: str) -> Reservation:
    """A guest's booking by the token of the link. Raises NotFound, also for one that we have forgotten."""
    found = Reservation.objects.select_related("table__area").filter(token=token).first()
    if found is None or not found.phone:
        raise NotFound("We have no such booking.")
    return found


def can_cancel(reservation: Reservation, now: datetime | None = None) -> bool:
    now = now or timezone.now()
    return reservation.status == Status.BOOKED and now <= reservation.begins - CANCEL_UNTIL


def cancel(reservation: Reservation, now: datetime | None = None) -> None:
    """Raises RuleBroken where it is too late."""
    if reservation.status != Status.BOOKED:
        raise RuleBroken("This booking does not stand any more.")
    if not can_cancel(reservation, now):
        raise RuleBroken(f"It is too late to cancel here. Please call us: {PHONE_OF_THE_HOUSE}.")
    reservation.status = Status.CANCELLED
    reservation.save(update_fields=["status"])
