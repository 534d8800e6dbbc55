import unittest

from shared.money import ZERO, Money, stored


class MoneyTest(unittest.TestCase):
    def test_read_and_written(self):
        for text in ("0.00", "19.99", "-0.05", "-12.30", "1000000.01"):
            self.assertEqual(str(Money.of(text)), text)
        self.assertEqual(Money.of("20"), Money(2000))

    def test_what_is_no_amount(self):
        for text in ("", "ten", "0.005", "nan", "inf", None):
            with self.subTest(text), self.assertRaises(ValueError):
                Money.of(text)

    def test_sums_are_exact(self):
        self.assertEqual(Money.of("0.10") + Money.of("0.20"), Money.of("0.30"))
        self.assertEqual(sum([Money.of("0.10")] * 10, ZERO), Money.of("1.00"))

    def test_an_amount_and_a_number_do_not_add(self):
        for wrong in (lambda: Money(1) + 1, lambda: 1.0 - Money(1), lambda: Money(2) * Money(2), lambda: sum([Money(1)])):
            with self.assertRaises(TypeError):
                wrong()

    def test_times_a_number(self):
        self.assertEqual(Money.of("59.90") * 0.125, Money.of("7.49"))
        self.assertEqual(3 * Money.of("0.35"), Money.of("1.05"))
        self.assertEqual((Money(5) * 0.5, Money(15) * 0.5), (Money(2), Money(8)))

    def test_split_adds_up(self):
        parts = Money.of("22.39").split(3)
        self.assertEqual([str(part) for part in parts], ["7.47", "7.46", "7.46"])
        self.assertEqual(sum(Money.of("-0.05").split(2), ZERO), Money.of("-0.05"))

    def test_ordered_hashable_and_false_when_zero(self):
        self.assertEqual(max(Money(5), Money(-7)), Money(5))
        self.assertEqual(len({Money(5), Money(5)}), 1)
        self.assertFalse(ZERO)

    def test_files_of_before_and_after(self):
        self.assertEqual(stored({"goods": 19.99}, "goods"), Money(1999))
        self.assertEqual(stored({"goods_cents": 1999}, "goods"), Money(1999))
