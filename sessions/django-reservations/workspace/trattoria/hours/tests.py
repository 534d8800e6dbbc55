from datetime import date, time

from django.db import IntegrityError
from django.test import TestCase

from core.times import at
from hours.models import ClosedDay, OpeningHours, Weekday
from hours.services import closed_reason, is_open, spans

FRIDAY = date(2026, 3, 6)


class SpansTest(TestCase):
    @classmethod
    def setUpTestData(cls):
        OpeningHours.objects.create(weekday=Weekday.FRIDAY, opens=time(18), closes=time(23, 30))
        OpeningHours.objects.create(weekday=Weekday.FRIDAY, opens=time(12), closes=time(14, 30))

    def test_spans_of_a_day_are_in_order(self):
        begins = [begin for begin, _ in spans(FRIDAY)]
        self.assertEqual(begins, [at(FRIDAY, time(12)), at(FRIDAY, time(18))])

    def test_a_closed_day_has_none(self):
        ClosedDay.objects.create(day=FRIDAY, reason="Carpenter")
        self.assertEqual(spans(FRIDAY), [])
        self.assertEqual(closed_reason(FRIDAY), "Carpenter")

    def test_is_open(self):
        self.assertTrue(is_open(at(FRIDAY, time(12))))
        self.assertFalse(is_open(at(FRIDAY, time(14, 30))))
        self.assertFalse(is_open(at(date(2026, 3, 7), time(12))))

    def test_a_span_ends_after_it_starts(self):
        with self.assertRaises(IntegrityError):
            OpeningHours.objects.create(weekday=Weekday.MONDAY, opens=time(18), closes=time(12))
