"""Telemetry over the run's time: counters that fall, readings that fail, servers side by side."""

import math
from typing import Any

from replayer.journal.events import TelemetryRead
from replayer.tui.curves import by_instance, gauge, known, over_time, rate, share, usual


def reading(second: int, instance: str = "a", **sample: Any) -> TelemetryRead:
    return TelemetryRead(at=second * 1_000_000_000, lane="x", instance=instance, sample=sample)


def test_a_rate_is_the_growth_over_the_time_and_a_reset_is_unknown() -> None:
    samples = [
        reading(0, generated_tokens=0.0),
        reading(2, generated_tokens=80.0),
        reading(3, generated_tokens=5.0),
    ]
    assert rate(samples, "generated_tokens") == [(0.0, 2.0, 40.0), (2.0, 3.0, None)]


def test_a_reading_that_failed_leaves_a_gap_on_both_sides() -> None:
    samples = [reading(0, kv_used=0.1), reading(1, missing="timeout"), reading(2, kv_used=0.3)]
    assert [value for _, _, value in gauge(samples, "kv_used")] == [0.1, None, 0.3]
    assert over_time(gauge(samples, "kv_used"), 3, 3) == [0.1, None, 0.3]


def test_a_share_is_unknown_where_nothing_was_drafted() -> None:
    samples = [
        reading(0, drafted=0.0, accepted=0.0),
        reading(1, drafted=10.0, accepted=7.0),
        reading(2, drafted=10.0, accepted=7.0),
    ]
    assert [value for _, _, value in share(samples, "accepted", "drafted")] == [0.7, None]


def test_a_slice_is_the_mean_weighted_by_time() -> None:
    assert over_time([(0.0, 1.0, 10.0), (1.0, 4.0, 2.0)], 4, 1) == [4.0]
    assert over_time([(0.0, 2.0, 10.0)], 4, 2) == [10.0, None]


def test_counters_of_two_servers_are_kept_apart() -> None:
    samples = [reading(0, "a", running=1.0), reading(0, "b", running=2.0), reading(1, "a", running=3.0)]
    found = by_instance(samples)
    assert [len(found[name]) for name in ("a", "b")] == [2, 1]


def test_readings_that_are_no_number_are_unknown_and_times_out_of_reach_break_nothing() -> None:
    samples = [reading(n, kv_used=value) for n, value in enumerate((0.5, math.nan, math.inf, "x", 10**400))]
    assert known(gauge(samples, "kv_used")) == [0.5]
    assert over_time([(-math.inf, math.inf, 1.0), (math.nan, math.nan, 2.0)], 4, 2) == [1.0, 1.0]


def test_one_spike_does_not_flatten_a_curve() -> None:
    speeds = [300.0, 310.0, 290.0, 320.0] * 20
    assert usual(speeds) == 320, "the highest is the top"
    assert usual([10.0, 40.0]) == 40, "few values are not spikes"
    assert usual([*speeds, 108_569.0]) == 1.3 * 320
    assert usual([0.0]) == 0
