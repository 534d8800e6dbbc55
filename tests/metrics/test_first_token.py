"""Speeds of replies whose first tokens no delta shows: an engine of 200 tokens a second after 30 ms of prefill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replayer.journal.packing import pack
from replayer.journal.view import load
from replayer.metrics.figures import run_figures
from tests.tui.pictures import Folder

MS = 1_000_000
PREFILL, EACH = 30 * MS, 5 * MS
CALL = [{"index": 0, "id": "c1", "name": "read_file", "arguments": '{"path":"a.py"}'}]


def reply(tokens: int, hidden: int, *, call: bool, began_ns: int | None = PREFILL) -> dict[str, Any]:
    """`tokens` of which the first `hidden` come with the first delta, and each later one with one of its own."""
    arrivals = [PREFILL + EACH * number for number in range(hidden, tokens)]
    return {
        "content": "" if call else "<tool about to call",
        "tool_calls": CALL if call else [],
        "usage": {"prompt_tokens": 900, "cached_tokens": 300, "completion_tokens": tokens},
        "began_ns": began_ns,
        "ttft_ns": arrivals[0],
        "total_ns": PREFILL + EACH * (tokens - 1),
        "arrivals": pack(arrivals),
        "deltas": len(arrivals),
    }


def figures(tmp_path: Path, *replies: dict[str, Any]) -> Any:
    made = Folder(tmp_path / "run", {"a": {}}, turns=len(replies))
    for number, said in enumerate(replies):
        made.turn("a", number, **said)
    made.journal.close()
    return run_figures(load(made.path)).lanes[0]


@pytest.mark.parametrize(("hidden", "call"), [(14, True), (36, True), (40, True), (14, False), (36, False)])
def test_tokens_that_were_held_back_are_decoded_at_the_engines_pace(
    tmp_path: Path, hidden: int, call: bool
) -> None:
    lane = figures(tmp_path, *[reply(41, hidden, call=call)] * 3)
    assert lane.decode_tok_s.value == pytest.approx(200)
    assert lane.tpot_ms.p50 == pytest.approx(5)
    assert lane.prefill_tok_s.value == pytest.approx(600 / 0.030)
    assert lane.ttft_ms.p50 == pytest.approx(30 + 5 * hidden), "what a client waits for is another figure"


@pytest.mark.parametrize("began_ns", [None, 1_500_000])
def test_a_call_that_nothing_announced_has_no_speed(tmp_path: Path, began_ns: int | None) -> None:
    """No chunk opened the stream, or it came before prefill: 41 tokens in the time of 27 are no speed."""
    lane = figures(tmp_path, *[reply(41, 14, call=True, began_ns=began_ns)] * 3)
    assert lane.decode_tok_s.value is None and lane.tpot_ms.p50 is None and lane.prefill_tok_s.value is None
    assert lane.ttft_ms.p50 == pytest.approx(100)


def test_a_chunk_before_prefill_says_nothing_of_a_text(tmp_path: Path) -> None:
    lane = figures(tmp_path, *[reply(41, 1, call=False, began_ns=3 * MS)] * 3)
    assert lane.decode_tok_s.value == pytest.approx(205), "the token that came with the first is not seen"


def test_speeds_fall_into_no_bands_by_the_kind_of_reply(tmp_path: Path) -> None:
    texts, calls = [reply(60, 0, call=False)] * 9, [reply(60, 30, call=True)] * 3
    assert not figures(tmp_path, *texts, *calls).bands
