import unittest
from datetime import date

from payroll.models import Person, Week
from payroll.service import average_hour, by_month, pay

INES = Person("Ines", 18.4)
WEEKS = [
    Week(INES, date(2026, 3, 2), 38.5),
    Week(INES, date(2026, 3, 9), 41.0, expenses=12.3),
    Week(INES, date(2026, 4, 6), 20.25),
]


class PayrollTest(unittest.TestCase):
    def test_pay(self):
        self.assertAlmostEqual(pay(WEEKS[0]), 708.4)
        self.assertAlmostEqual(pay(WEEKS[1]), 778.2)
        self.assertAlmostEqual(pay(WEEKS[2]), 372.6)

    def test_by_month(self):
        self.assertEqual(by_month(WEEKS), {"2026-03": 1486.6, "2026-04": 372.6})

    def test_average_hour(self):
        self.assertAlmostEqual(average_hour(WEEKS), 18.52)
        self.assertEqual(average_hour([]), 0.0)
