import unittest

from exchange.service import charge, from_euros, to_euros
from shared.errors import BadInput


class ExchangeTest(unittest.TestCase):
    def test_to_euros(self):
        self.assertAlmostEqual(to_euros(100.0, "CHF"), 106.15)
        self.assertAlmostEqual(to_euros(5000.0, "JPY"), 30.99)

    def test_from_euros(self):
        self.assertAlmostEqual(from_euros(106.15, "CHF"), 100.0)
        self.assertAlmostEqual(from_euros(30.99, "JPY"), 5000.0)

    def test_a_currency_that_we_do_not_take(self):
        with self.assertRaises(BadInput):
            to_euros(1.0, "XAU")

    def test_charge(self):
        self.assertAlmostEqual(charge(1000.0), 15.0)
        self.assertAlmostEqual(charge(20.0), 2.0)
