"""Two guests take the last table at the same moment: both have seen that it is free before either has written."""

import threading
from datetime import timedelta
from unittest import mock

from django.db import connection
from django.utils import timezone

from core.errors import RuleBroken
from reservations import services
from reservations.models import Reservation

day = timezone.localdate() + timedelta(days=8)
while len(moments := services.offered(day, 8)) == 0:
    day += timedelta(days=1)
both_looked = threading.Barrier(2, timeout=3)
honest = services.free_tables


def slow(begin, party):
    found = honest(begin, party)
    print("free:", found.first() is not None)
    try:
        both_looked.wait()
    except threading.BrokenBarrierError:
        pass
    return found


def guest(number):
    try:
        services.book(moments[0], 8, "Race", f"06 555 30{number:02}")
        print("booked")
    except RuleBroken as broken:
        print("refused:", broken)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


with mock.patch.object(services, "free_tables", slow):
    guests = [threading.Thread(target=guest, args=(number,)) for number in range(2)]
    [one.start() for one in guests]
    [one.join() for one in guests]
print("bookings:", Reservation.objects.filter(name="Race").count())
Reservation.objects.filter(name="Race").delete()
