import unittest

from taxes.models import Line, Rate
from taxes.service import by_rate, gross, tax_in, tax_on

LINES = [Line("frame", 33.3), Line("glass", 33.3), Line("catalogue", 12.5, Rate.BOOKS)]


class TaxTest(unittest.TestCase):
    def test_on_and_in(self):
        self.assertAlmostEqual(tax_on(100.0, Rate.NORMAL), 22.0)
        self.assertAlmostEqual(tax_on(33.33, Rate.REDUCED), 3.33)
        self.assertAlmostEqual(tax_in(122.0, Rate.NORMAL), 22.0)
        self.assertAlmostEqual(tax_in(10.4, Rate.BOOKS), 0.4)
        self.assertAlmostEqual(tax_in(10.0, Rate.NONE), 0.0)

    def test_by_rate(self):
        found = by_rate(LINES)
        self.assertAlmostEqual(found[Rate.NORMAL], 14.65)
        self.assertAlmostEqual(found[Rate.BOOKS], 0.5)

    def test_gross(self):
        self.assertAlmostEqual(gross(LINES), 94.25)
