"""Traces of lengths and block hashes: which thread a request goes on with, and lines that are not as usual."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.traces.convert import convert
from replayer.traces.importers.token_traces import MOONCAKE_BLOCK
from replayer.traces.reader import Trace
from replayer.traces.schema import Times, Turn
from replayer.traces.summary import Summary


def imported(requests: list[Any], folder: Path) -> tuple[Summary, list[Turn]]:
    path = folder / "requests.jsonl"
    path.write_bytes(b"".join(orjson.dumps(request) + b"\n" for request in requests))
    (summary,) = convert(path, folder)
    assert isinstance(summary, Summary)
    with Trace.open(Path(summary.trace)) as trace:
        return summary, list(trace.turns)


def request(hashes: Any, length: Any = None, **more: Any) -> dict[str, Any]:
    blocks = len(hashes) if isinstance(hashes, list) else 1
    whole = blocks * MOONCAKE_BLOCK if length is None else length
    return {"timestamp": 1000, "input_length": whole, "output_length": 5, "hash_ids": hashes, **more}


def threads_of(requests: list[dict[str, Any]]) -> list[str]:
    """The rule in plain words: the longest earlier prompt of at least two full blocks that begins this one."""
    ends: dict[int, tuple[list[int], str]] = {}
    found: list[str] = []
    for one in requests:
        ids = one["hash_ids"]
        known = [ends[n] for n in ids if n in ends and ids[: len(ends[n][0])] == ends[n][0]]
        new = f"chain-{1 + len(set(found))}"
        thread = max(known, key=lambda end: len(end[0]), default=(None, new))[1]
        found.append(thread)
        full = ids[: max(1, one["input_length"] // MOONCAKE_BLOCK)]
        if len(full) > 1:
            ends[full[-1]] = full, thread
    return found


ids = st.lists(st.sampled_from([0, 1, 6, 69, 9, -6, 2**63, 690]), max_size=7)
usual = st.builds(
    lambda hashes, cut: request(hashes, max(0, len(hashes) * MOONCAKE_BLOCK - cut)),
    ids,
    st.sampled_from([0, 1, 900]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(usual, min_size=1, max_size=150))
def test_a_request_goes_on_with_the_longest_prompt_that_begins_it(requests: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        summary, turns = imported(requests, Path(folder))
    assert [turn.thread for turn in turns] == threads_of(requests)
    assert [list(turn.tokens.block_hashes) for turn in turns if turn.tokens] == [
        r["hash_ids"] for r in requests
    ]
    assert summary.turns == len(requests)
    assert summary.threads == len(set(threads_of(requests)))
    assert summary.max_prompt_tokens_estimate == max(r["input_length"] for r in requests)


def test_an_id_that_begins_like_another_is_another(tmp_path: Path) -> None:
    _, turns = imported([request([1, 6]), request([1, 69, 6])], tmp_path)
    assert [turn.thread for turn in turns] == ["chain-1", "chain-2"]


@pytest.mark.parametrize(
    ("odd", "hashes", "started"),
    [
        (request([1, 2.5, "3", None, True, [4], 5]), (1, 5), 1.0),
        (request([[1, 2], 3]), (3,), 1.0),
        (request("1,2"), (), 1.0),
        (request([1, 2], timestamp="soon"), (1, 2), None),
        (request([1, 2], timestamp=True), (1, 2), None),
        (request([1, 2], input_length="700"), (1, 2), 1.0),
        ({"input_length": 700, "output_length": 5}, (), None),
    ],
)
def test_an_odd_request_among_usual_ones(
    odd: Any, hashes: tuple[int, ...], started: float | None, tmp_path: Path
) -> None:
    """It keeps what can be read of it, and the requests beside it lose nothing."""
    before, after = [request([7, 8, n]) for n in range(70)], [request([7, 9, n]) for n in range(70)]
    summary, turns = imported([*before, odd, *after], tmp_path)
    assert summary.turns == 141
    assert turns[70].tokens is not None
    assert turns[70].tokens.block_hashes == hashes
    assert turns[70].times == (Times(started=started) if started is not None else None)
    assert [t.tokens.block_hashes for t in turns[71:] if t.tokens] == [(7, 9, n) for n in range(70)]


@pytest.mark.parametrize("bad", [request([1], "many"), {"output_length": 5}, [1, 2], "text", None, 7])
def test_a_line_without_length_is_left_out_and_counted(bad: Any, tmp_path: Path) -> None:
    summary, turns = imported([request([1, 2, 3]), bad, request([1, 2, 3, 4])], tmp_path)
    assert [turn.thread for turn in turns] == ["chain-1", "chain-1"]
    assert "1 lines lack a length and are left out" in summary.warnings


def test_a_named_session_is_its_own_thread(tmp_path: Path) -> None:
    named = [
        request([1, 2, 3], session_id='a, "b"'),
        request([1, 2, 3, 4]),
        request([1, 2, 3], session_id=""),
    ]
    _, turns = imported(named, tmp_path)
    assert [turn.thread for turn in turns] == ['a, "b"'] * 3
