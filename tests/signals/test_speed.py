"""Speed and acceptance of one reply: the client's clock and the server's own words, kept apart."""

from replayer.signals.acceptance import AcceptanceSignal
from replayer.signals.speed import SpeedSignal
from replayer.wire.types import Reply, Timing

MS = 1_000_000
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 800}}


def reply(extra=None, usage=USAGE, deltas=100):
    arrivals = tuple((200 + 10 * at) * MS for at in range(deltas))
    timing = Timing(sent=0, headers=5 * MS, first_token=200 * MS, ended=arrivals[-1], arrivals=arrivals)
    return Reply(timing=timing, usage=usage, extra=extra or {})


def test_the_clients_clock():
    (found,) = SpeedSignal().finish(reply())
    assert found["client"] == {"ttft_ms": 200.0, "decode_tok_s": 100.0, "prefill_tok_s": 1000.0}
    assert found["server"] is None


def test_chunks_are_not_tokens():
    """25 deltas of 4 tokens: 96 tokens came after the first delta."""
    (found,) = SpeedSignal().finish(reply(deltas=25))
    assert found["client"]["decode_tok_s"] == 96 / 0.24


def test_what_is_unknown_stays_unknown():
    (found,) = SpeedSignal().finish(reply(usage=None))
    assert found["client"]["decode_tok_s"] is None and found["client"]["prefill_tok_s"] is None
    (found,) = SpeedSignal().finish(reply(usage={"prompt_tokens": 9, "completion_tokens": 100}))
    assert found["client"]["prefill_tok_s"] is None


def test_llamacpps_timings_and_drafts():
    timings = {
        "predicted_per_second": 79.7,
        "prompt_per_second": 380.5,
        "draft_n": 28,
        "draft_n_accepted": 28,
    }
    (speed,) = SpeedSignal().finish(reply({"timings": timings}))
    assert speed["server"] == {"decode_tok_s": 79.7, "prefill_tok_s": 380.5, "source": "timings"}
    (drafts,) = AcceptanceSignal().finish(reply({"timings": timings}))
    assert (drafts["rate"], drafts["length"], drafts["source"]) == (1.0, None, "timings")


def test_vllms_metrics_of_a_captured_request():
    """per-request-metrics/multiturn-2.response.sse: 16 tokens in 3 turns, 314 ms after the first."""
    detail = {"num_draft_tokens": 12, "num_accepted_draft_tokens": 10, "num_spec_steps": 3}
    metrics = {
        "generation_time_ms": 314.2355,
        "time_to_first_token_ms": 368.2,
        "speculative_decoding": detail,
    }
    (speed,) = SpeedSignal().finish(
        reply({"metrics": metrics}, {"prompt_tokens": 1706, "completion_tokens": 16})
    )
    assert round(speed["server"]["decode_tok_s"], 2) == round((16 - 16 / 3) / 0.3142355, 2)
    (drafts,) = AcceptanceSignal().finish(reply({"metrics": metrics}))
    assert round(drafts["rate"], 4) == 0.8333 and round(drafts["length"], 4) == 4.3333


def test_nothing_drafted_is_no_finding():
    assert AcceptanceSignal().finish(reply()) == []
