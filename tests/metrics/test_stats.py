"""Statistics against the figures of the field and against scipy and statsmodels as oracles."""

import math
import random

import pytest
from scipy import stats as oracle
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from replayer.metrics.resampling import quantile_differences, ratio_difference, sign_flip, swap
from replayer.metrics.stats import (
    difference,
    e_value,
    holm,
    quantile,
    sample_size,
    sequential,
    student_cdf,
    student_t,
    weighted_quantile,
    wilson,
)


def test_two_agents_that_nobody_can_tell_apart() -> None:
    """21 of 140 against 38 of 221 failed calls: the observation that replayer grew from."""
    assert [round(100 * x, 1) for x in wilson(21, 140)] == [10.0, 21.8]
    assert [round(100 * x, 1) for x in wilson(38, 221)] == [12.8, 22.7]
    gap = difference(21, 140, 38, 221)
    assert [round(100 * x, 1) for x in (gap.value, gap.low, gap.high)] == [2.2, -5.9, 9.6]
    assert sample_size(0.150, 0.172) == 4380


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (1, 3), (21, 140), (999, 1000)])
def test_wilson_equals_statsmodels(k: int, n: int) -> None:
    assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


@pytest.mark.parametrize(("k1", "n1", "k2", "n2"), [(21, 140, 38, 221), (1, 20, 5, 30), (0, 9, 4, 9)])
def test_difference_equals_newcombe_of_statsmodels(k1: int, n1: int, k2: int, n2: int) -> None:
    low, high = confint_proportions_2indep(k2, n2, k1, n1, method="newcomb", compare="diff")
    gap = difference(k1, n1, k2, n2)
    assert (gap.low, gap.high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 5, 29, 200])
def test_student_equals_scipy(freedom: int) -> None:
    assert student_t(0.975, freedom) == pytest.approx(oracle.t.ppf(0.975, freedom), rel=1e-9)
    for t in (-3.0, -0.5, 0.0, 0.1, 2.0, 40.0):
        assert student_cdf(t, freedom) == pytest.approx(oracle.t.cdf(t, freedom), abs=1e-12)


def test_sign_flip_equals_scipys_exact_permutation_test() -> None:
    draw = random.Random(1)
    values = [draw.gauss(0.4, 1) for _ in range(10)]
    expected = oracle.permutation_test(
        (values,), sum, permutation_type="samples", alternative="two-sided", n_resamples=math.inf
    )
    assert sign_flip(values) == pytest.approx(expected.pvalue)


def test_sign_flip_is_bounded_by_the_number_of_sessions() -> None:
    assert sign_flip([1.0] * 6) == 2 / 2**6
    assert sign_flip([0.0] * 9) == 1.0


def test_swapping_sessions_is_the_sign_flip_test_where_they_are_of_one_length() -> None:
    draw = random.Random(3)
    for count in (6, 9, 20):
        a, b = ([(draw.gauss(4, 1), 5.0) for _ in range(count)] for _ in range(2))
        moved = [y[0] - x[0] for x, y in zip(a, b, strict=True)]
        assert swap(a, b) == pytest.approx(sign_flip(moved), abs=0.02 if count > 14 else 1e-9)


def test_an_interval_of_ratios_is_a_t_interval_when_clusters_are_single_turns() -> None:
    values = [0.0, 1.0, -1.0, 1.0, 1.0, 0.0, 1.0]
    interval = ratio_difference([(0.0, 1.0)] * len(values), [(value, 1.0) for value in values])
    assert interval is not None
    assert ratio_difference([(0.0, 1.0)] * 6, [(1.0, 1.0)] * 6) is None, "nothing varied: no interval"
    expected = oracle.ttest_1samp(values, 0).confidence_interval()
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_holm_equals_statsmodels() -> None:
    p_values = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.5}
    expected = multipletests(list(p_values.values()), method="holm")[1]
    assert list(map(holm(p_values).get, p_values)) == pytest.approx(list(expected))


def test_e_value_is_a_mixture_of_binomials() -> None:
    """The mean of its value under a fair coin is 1, for any number of tosses."""
    for n in (1, 5, 20):
        mean = math.fsum(math.comb(n, k) / 2**n * e_value(k, n - k) for k in range(n + 1))
        assert mean == pytest.approx(1.0)


def test_quantile_equals_type_seven_of_numpy() -> None:
    assert quantile([1.0, 2.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 4.0], 0.75) == 3.0
    assert quantile([], 0.5) is None


def test_weighted_holm_equals_plain_holm_with_equal_weights_and_favours_the_heavy() -> None:
    p_values = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.5}
    assert holm(p_values, dict.fromkeys(p_values, 0.25)) == pytest.approx(holm(p_values))
    heavy = holm({"first": 0.03, "second": 0.001}, {"first": 0.64, "second": 0.36})
    assert heavy == pytest.approx({"second": 0.001 / 0.36, "first": 0.03})


def test_quantile_differences_are_drawn_by_whole_sessions() -> None:
    a, b = [{1.0: 50}, {3.0: 50}] * 4, [{2.0: 50}, {4.0: 50}] * 4
    assert (
        weighted_quantile([(1.0, 2), (2.0, 1), (3.0, 1)], 0.5) == quantile([1.0, 1.0, 2.0, 3.0], 0.5) == 1.5
    )
    (interval,) = quantile_differences(a, b, [0.5])
    assert (interval.value, interval.low, interval.high) == (1.0, 1.0, 1.0)
    (apart,) = quantile_differences(a, b, [0.5], paired=False)
    assert apart.low < 1 < apart.high


def test_a_sequential_interval_leaves_zero_out_exactly_when_its_test_decides() -> None:
    draw = random.Random(2)
    for effect in (0.0, 0.5, 1.5):
        values = [draw.gauss(effect, 1) for _ in range(40)]
        for seen in range(1, 41):
            p, interval = sequential(values[:seen])
            assert (p <= 0.05) == (interval.low > 0 or interval.high < 0)


def test_eight_sessions_that_agree_are_enough_to_stop() -> None:
    assert sequential([-1.0] * 7)[0] > 0.05
    assert sequential([-1.0] * 8)[0] < 0.05
    assert sequential([])[0] == 1.0


def test_counted_values_have_the_quantiles_of_the_list() -> None:
    draw = random.Random(4)
    for _ in range(50):
        counts = {float(draw.randrange(9)): draw.randrange(1, 6) for _ in range(draw.randrange(1, 7))}
        ordered = sorted(value for value, count in counts.items() for _ in range(count))
        for share in (0.0, 0.5, 0.9, 0.95, 1.0):
            assert weighted_quantile(sorted(counts.items()), share) == pytest.approx(quantile(ordered, share))
            (gap,) = quantile_differences([{0.0: 1}, {0.0: 1}], [counts, counts], [share])
            assert gap.value == pytest.approx(quantile(sorted([*ordered, *ordered]), share))
