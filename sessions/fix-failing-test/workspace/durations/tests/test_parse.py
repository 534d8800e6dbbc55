import unittest

from parse import parse


class ParseTest(unittest.TestCase):
    def test_units(self):
        self.assertEqual(parse("90m"), 5400)
        self.assertEqual(parse("1h 30m"), 5400)

    def test_decimals(self):
        self.assertEqual(parse("1.5h"), 5400)

    def test_rubbish(self):
        for text in ("", "soon", "2h later"):
            with self.assertRaises(ValueError):
                parse(text)
