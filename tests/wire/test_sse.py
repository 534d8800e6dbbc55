"""Server-sent events cut anywhere, in any of the forms that the format allows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replayer.wire import sse
from replayer.wire.limits import Limits
from replayer.wire.sse import SseEvent, SseSplitter, events, read_block


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", [SseEvent(b"a")]),
        (b"data:a\n\n", [SseEvent(b"a")]),
        (b"data:  a\n\n", [SseEvent(b" a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [SseEvent(b"a")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"data: a\r\rdata: b\r\r", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"\n\n\ndata: a\n\n\n\n\ndata: b\n\n", [SseEvent(b"a"), SseEvent(b"b")]),
        (b": ping\n\n:\n\ndata: a\n: in the middle\n\n", [SseEvent(b"a")]),
        (b"data: a\ndata: b\ndata\n\n", [SseEvent(b"a\nb\n")]),
        (b"event: x\nid: 7\nretry: 5\ndata: a\n\n", [SseEvent(b"a", "x", "7")]),
        (b"event: x\n\ndata: a\n\n", [SseEvent(b"a")]),
        (b"data: a\n\ndata: b", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"data: a\n\ndata: b\n", [SseEvent(b"a"), SseEvent(b"b")]),
        (b"data: \xff\n\n", [SseEvent(b"\xff")]),
        (b"data:\n\n", [SseEvent(b"")]),
        (b"error: x\n\n", [SseEvent(b"x", "error")]),
        (b"", []),
        (b"\n", []),
    ],
)
def test_forms(body: bytes, expected: list[SseEvent]) -> None:
    assert events(body) == expected
    assert pieces(body[i : i + 1] for i in range(len(body))) == expected


def pieces(parts: object) -> list[SseEvent]:
    splitter = SseSplitter()
    blocks = [block for part in parts for block in splitter.feed(part)]  # type: ignore[attr-defined]
    return [event for event in map(read_block, blocks + splitter.flush()) if event]


def by_the_book(body: bytes) -> list[SseEvent]:
    """The interpretation of the HTML standard, line by line, save that the end of the body ends an event."""
    found, data, kind, number = [], [], None, None
    for line in [*re.split(rb"\r\n|\r|\n", body.removeprefix(b"\xef\xbb\xbf")), b""]:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                found.append(SseEvent(b"\n".join(data), kind, number))
            data, kind, number = [], None, None
        elif name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value.decode("utf-8", "replace")
        elif name == b"id":
            number = value.decode("utf-8", "replace")
    return found


PARTS = [
    b"data",
    b"event",
    b"id",
    b":",
    b": ",
    b" ",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"x",
    b"\xc3",
    b"\xa9",
    b"\xef\xbb\xbf",
]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=6).map(b"".join), max_size=12))
def test_any_bytes_in_any_pieces(parts: list[bytes]) -> None:
    assert pieces(parts) == by_the_book(b"".join(parts))


def test_an_event_is_there_as_soon_as_it_is_complete() -> None:
    for end in (b"\n\n", b"\r\r", b"\r\n\r"):
        assert SseSplitter().feed(b"data: a" + end) == [b"data: a"]


def test_an_endless_event_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LIMITS", Limits(event=1000))
    for part in (b"x" * 10, b"x\n" * 5):
        splitter = SseSplitter()
        with pytest.raises(ValueError, match="longer than"):
            for _ in range(101):
                splitter.feed(part)
