import unittest

from count import count


class Count(unittest.TestCase):
    def test_words(self):
        self.assertEqual(count("one two"), 2)

    def test_two_blanks_are_one(self):
        self.assertEqual(count("one  two"), 2)
