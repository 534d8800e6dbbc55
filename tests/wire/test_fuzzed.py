"""No stream makes a reader fail, and its bytes may be cut anywhere."""

import random

import pytest

from replayer.wire.reply import assemble
from tests.wire.fuzzing import check, seeds


@pytest.mark.parametrize(
    ("number", "seed"), [(1_000, 1), pytest.param(12_000, 2, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_fuzzed_streams_give_the_same_reply_however_they_are_read(number: int, seed: int) -> None:
    pool, pick = seeds(), random.Random(seed)
    replies = [check(pick, pool) for _ in range(number)]
    assert {reply.wire for reply in replies} == {"chat", "messages", "responses"}
    assert (
        {bool(reply.fault) for reply in replies} == {bool(reply.notes) for reply in replies} == {True, False}
    )


def test_white_space_that_comes_alone_is_the_beginning_of_the_stream() -> None:
    body = b'\r\xef\xbb\xbfdata: {"choices":[{"delta":{"content":"a"}}]}\n\n'
    assert assemble([body[:1], body[1:]]) == assemble(body)
