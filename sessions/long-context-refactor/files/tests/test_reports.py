import unittest
from datetime import date

from invoices.models import Invoice
from orders.models import Order
from reports.service import as_csv, by_quarter, median, share, totals

MANY = [
    Order("O-1", "Ines", date(2026, 3, 2), goods=0.1),
    Invoice("I-1", "Jon", date(2026, 3, 30), net=0.2),
    Order("O-2", "Ines", date(2026, 4, 1), goods=19.99, shipping=4.9),
]


class ReportsTest(unittest.TestCase):
    def test_totals_come_from_each_department(self):
        self.assertEqual(totals(MANY), [0.1, 0.2, 24.89])

    def test_by_quarter(self):
        self.assertEqual(by_quarter(MANY), {"2026Q1": 0.3, "2026Q2": 24.89})

    def test_median(self):
        self.assertEqual(median(MANY), 0.2)
        self.assertEqual(median(MANY[:2]), 0.15)
        self.assertEqual(median([]), 0.0)

    def test_as_csv(self):
        self.assertIn("O-2,2026-04-01,30,24.89\n", as_csv(MANY, date(2026, 5, 1)))

    def test_share(self):
        self.assertEqual(share(MANY[:2], MANY), 1.2)
