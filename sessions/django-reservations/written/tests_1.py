from datetime import date, datetime, time, timedelta

from django.test import TestCase

from core.errors import NotFound, RuleBroken
from core.times import at
from floor.models import Area, Table
from hours.models import ClosedDay, OpeningHours, Weekday
from reservations import services
from reservations.models import Reservation, Status

FRIDAY = date(2026, 3, 6)
NOW = at(date(2026, 3, 2), time(10))


def friday(clock: str) -> datetime:
    return at(FRIDAY, time.fromisoformat(clock))


class Restaurant(TestCase):
    """Two tables, open on Fridays from 18 to 22."""

    @classmethod
    def setUpTestData(cls):
        area = Area.objects.create(name="Dining room")
        cls.small = Table.objects.create(area=area, number=1, seats=2)
        cls.large = Table.objects.create(area=area, number=2, seats=6)
        OpeningHours.objects.create(weekday=Weekday.FRIDAY, opens=time(18), closes=time(22))

    def book(self, clock="19:00", party=2, phone="06 555 1000", **more):
        return services.book(friday(clock), party, "Ada Rossi", phone, now=more.pop("now", NOW), **more)

    def offered(self, party=2, now=NOW):
        return [f"{moment:%H:%M}" for moment in services.offered(FRIDAY, party, now)]


class StartsTest(Restaurant):
    def test_the_last_visit_ends_when_we_close(self):
        starts = services.starts(FRIDAY)
        self.assertEqual((starts[0], starts[-1]), (friday("18:00"), friday("20:00")))

    def test_a_span_shorter_than_a_visit_has_no_start(self):
        OpeningHours.objects.create(weekday=Weekday.SATURDAY, opens=time(12), closes=time(13, 30))
        self.assertEqual(services.starts(FRIDAY + timedelta(days=1)), [])

    def test_a_closed_day_has_no_start(self):
        ClosedDay.objects.create(day=FRIDAY, reason="Carpenter")
        self.assertEqual(services.starts(FRIDAY), [])

    def test_times_too_soon_are_not_offered(self):
        self.assertEqual(self.offered(now=friday("18:50"))[0], "20:00")

    def test_times_too_far_ahead_are_not_offered(self):
        self.assertEqual(self.offered(now=NOW - timedelta(days=60)), [])


class BookTest(Restaurant):
    def test_the_smallest_table_that_fits(self):
        self.assertEqual(self.book(party=2).table, self.small)
        self.assertEqual(self.book(party=2, phone="06 555 1001").table, self.large)

    def test_a_full_house_is_refused_and_not_offered(self):
        self.book(party=2)
        self.book(party=4, phone="06 555 1001")
        with self.assertRaisesMessage(RuleBroken, "just been taken"):
            self.book(party=2, phone="06 555 1002")
        self.assertEqual(self.offered(), [])

    def test_one_visit_can_follow_another_at_once(self):
        OpeningHours.objects.update(closes=time(23))
        self.book("18:00", party=6)
        self.assertEqual(self.book("20:00", party=6, phone="06 555 1001").table, self.large)

    def test_a_table_out_of_service_is_not_given(self):
        Table.objects.filter(pk=self.small.pk).update(in_service=False)
        self.assertEqual(self.book(party=2).table, self.large)

    def test_a_party_too_large_is_asked_to_call(self):
        with self.assertRaisesMessage(RuleBroken, "please call us"):
            self.book(party=9)

    def test_a_time_at_which_we_are_not_open(self):
        for clock in ("17:45", "20:15", "19:05"):
            with self.subTest(clock), self.assertRaisesMessage(RuleBroken, "not open"):
                self.book(clock)

    def test_an_hour_ahead_at_least_and_sixty_days_at_most(self):
        with self.assertRaisesMessage(RuleBroken, "an hour ahead"):
            self.book("19:00", now=friday("18:30"))
        with self.assertRaisesMessage(RuleBroken, "60 days"):
            self.book("19:00", now=NOW - timedelta(days=57))

    def test_two_bookings_for_a_number_however_it_is_written(self):
        self.book("18:00", phone="06 555-1000")
        self.book("18:00", phone="+39 06 555 1000")
        with self.assertRaisesMessage(RuleBroken, "2 bookings"):
            self.book("20:00", phone="(0039) 06.555.1000")

    def test_no_number(self):
        with self.assertRaisesMessage(RuleBroken, "telephone number"):
            self.book(phone="call me maybe")


class CancelTest(Restaurant):
    def test_until_three_hours_before(self):
        booking = self.book("19:00")
        with self.assertRaisesMessage(RuleBroken, "too late"):
            services.cancel(booking, now=friday("16:01"))
        services.cancel(booking, now=friday("16:00"))
        self.assertEqual(Reservation.objects.get().status, Status.CANCELLED)

    def test_a_cancelled_table_is_free_again(self):
        services.cancel(self.book(party=6), now=NOW)
        self.assertEqual(self.book(party=6).table, self.large)

    def test_only_what_stands_can_be_cancelled(self):
        booking = self.book()
        services.cancel(booking, now=NOW)
        with self.assertRaisesMessage(RuleBroken, "does not stand"):
            services.cancel(booking, now=NOW)

    def test_a_wrong_link(self):
        self.assertEqual(services.find(self.book().token).party, 2)
        with self.assertRaises(NotFound):
            services.find("guessed")
