"""Speed bands: found where they are, and not where there are none."""

import random

import pytest

from replayer.signals.bands import Window, find_bands


def windows(rng, n, *bands, spread=1.5):
    """`bands`: (speed, acceptance); each window falls into one of them."""
    chosen = [rng.choice(bands) for _ in range(n)]
    return [Window(rng.gauss(speed, spread), rng.gauss(rate, 0.01)) for speed, rate in chosen]


def test_the_articles_four_windows_are_two_bands_that_follow_acceptance():
    article = [(95.9, 0.820), (95.3, 0.795), (109.8, 0.992), (107.6, 0.995)]
    found = find_bands([Window(speed, rate) for speed, rate in article])
    assert [(band.low, band.high) for band in found.bands] == [(95.3, 95.9), (107.6, 109.8)]
    assert found.bands[0].acceptance < 0.81 and found.bands[1].acceptance > 0.99
    assert found.explained_by_acceptance > 0.95 and found.few


@pytest.mark.parametrize("seed", range(5))
def test_two_bands_are_found_with_their_acceptance(seed):
    found = find_bands(windows(random.Random(seed), 60, (95, 0.80), (107, 0.99)))
    assert [round(band.median) for band in found.bands] == [
        pytest.approx(95, abs=1),
        pytest.approx(107, abs=1),
    ]
    assert found.explained_by_acceptance > 0.8 and not found.few


def test_three_bands():
    found = find_bands(windows(random.Random(1), 120, (60, 0.3), (95, 0.8), (130, 0.95)))
    assert len(found.bands) == 3


def test_without_bands_there_is_one():
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        normal = [Window(rng.gauss(100, 5), rng.uniform(0.7, 0.9)) for _ in range(40)]
        flat = [Window(rng.uniform(80, 120)) for _ in range(40)]
        found += (len(find_bands(normal).bands) > 1) + (len(find_bands(flat).bands) > 1)
    assert found <= 5


def test_bands_that_follow_load_are_said_to():
    rng = random.Random(3)
    busy = [Window(rng.gauss(50, 1), 0.9 + rng.gauss(0, 0.01), 4.0) for _ in range(20)]
    idle = [Window(rng.gauss(100, 1), 0.9 + rng.gauss(0, 0.01), 1.0) for _ in range(20)]
    found = find_bands(busy + idle)
    assert len(found.bands) == 2
    assert found.explained_by_load > 0.95 > 0.3 > found.explained_by_acceptance


@pytest.mark.parametrize("speeds", [[], [5.0], [5.0, 5.0], [5.0] * 20])
def test_too_little_to_tell(speeds):
    assert len(find_bands([Window(speed) for speed in speeds]).bands) <= 1
