import unittest

from parse import parse
from render import render


class RenderTest(unittest.TestCase):
    def test_round_trip(self):
        for seconds in (0, 59, 3600, 5400, 90061):
            self.assertEqual(parse(render(seconds)), seconds)
