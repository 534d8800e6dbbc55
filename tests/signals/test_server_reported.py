"""What a server reports of one reply: its speed and its draft tokens."""

from typing import Any

from replayer.signals.server_reported import draft_tokens, server_decode_speed


def test_llamacpps_timings_and_drafts() -> None:
    extra = {"timings": {"predicted_per_second": 79.7, "draft_n": 28, "draft_n_accepted": 28}}
    assert server_decode_speed(extra, 100) == 79.7
    assert draft_tokens(extra) == (28, 28)


def test_vllms_metrics_of_a_captured_request() -> None:
    """per-request-metrics/multiturn-2.response.sse: 16 tokens in 3 steps, 314 ms after the first."""
    detail = {"num_draft_tokens": 12, "num_accepted_draft_tokens": 10, "num_spec_steps": 3}
    metrics = {"generation_time_ms": 314.2355, "speculative_decoding": detail}
    extra: dict[str, Any] = {"metrics": metrics}
    speed = server_decode_speed(extra, 16)
    assert speed is not None and round(speed, 2) == round((16 - 16 / 3) / 0.3142355, 2)
    assert draft_tokens(extra) == (12, 10)


def test_a_server_that_reports_nothing() -> None:
    assert server_decode_speed({}, 16) is None and draft_tokens({}) == (None, None)
    assert server_decode_speed({"metrics": {"generation_time_ms": 3.0}}, None) is None


def test_figures_that_no_server_has_are_not_reported() -> None:
    for odd in (None, "x", [1], -5, float("inf"), float("nan"), 1e308, True):
        timings = {"timings": {"predicted_per_second": odd, "draft_n": 5, "draft_n_accepted": odd}}
        assert server_decode_speed(timings, 5) is None and draft_tokens(timings) == (5, None)
        metrics = {"metrics": {"generation_time_ms": odd, "speculative_decoding": {"num_draft_tokens": odd}}}
        assert server_decode_speed(metrics, 5) is None
        assert draft_tokens(metrics) == (None, None)
