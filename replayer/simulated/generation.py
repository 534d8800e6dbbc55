"""A reply as the tokens that the model generates, and what each of them delivers to the client."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replayer.simulated.replies import Call, Reply
from replayer.simulated.token_bytes import WIDTH, call_markup, encode


class Piece(NamedTuple):
    """One generated token. Markup delivers nothing; the first piece of a call opens it."""

    token: bytes
    channel: str = ""
    text: str = ""
    call: int = -1
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    pieces: list[Piece]
    finish: str

    @property
    def tokens(self) -> bytes:
        return b"".join(piece.token for piece in self.pieces)


def generate(reply: Reply, max_tokens: int | None) -> Generation:
    """Cut at the smaller of the reply's own limit and the request's; a cut finishes with `length`."""
    pieces = list(_pieces(reply))
    finish = reply.finish or ("tool_calls" if reply.calls else "stop")
    if reply.limit is not None and (max_tokens is None or reply.limit <= max_tokens):
        return Generation(pieces[: reply.limit], reply.finish or "length")
    if max_tokens is not None and len(pieces) > max_tokens:
        return Generation(pieces[:max_tokens], "length")
    return Generation(pieces, finish)


def _pieces(reply: Reply) -> Iterator[Piece]:
    if reply.reasoning:
        yield from _aligned("<think>", reply.reasoning, "</think>", "reasoning")
    if reply.content:
        yield from _aligned("", reply.content, "", "content")
    for number, call in enumerate(reply.calls):
        yield from _call(number, call)


def _call(number: int, call: Call) -> Iterator[Piece]:
    """The call opens with the token that ends its head, as a parser can know its name only then."""
    if call.leaked:
        yield from _aligned("", call_markup(call.name, call.generated or call.arguments), "", "content")
        return
    head, tail = call_markup(call.name, "\0").split("\0")
    generated = call.generated if call.generated is not None else call.arguments
    opens = max(0, len(head.encode()) - 1) // WIDTH
    channel = "" if call.dropped else "arguments"
    for at, piece in enumerate(_aligned(head, generated, tail, channel, call.arguments)):
        yield piece if call.dropped else piece._replace(call=number, opens=at == opens)


def _aligned(head: str, text: str, tail: str, channel: str, delivered: str | None = None) -> Iterator[Piece]:
    """The tokens of `head + text + tail`; those that hold text deliver it. `delivered` stands for what a parser
    made of the text, cut at the same places and its rest given with the last of them."""
    packed = encode(head + text + tail)
    start = len(head.encode("utf-8", "replace"))
    end = start + len(text.encode("utf-8", "replace"))
    data = (text if delivered is None else delivered).encode("utf-8", "replace")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for low in range(0, len(packed), WIDTH):
        high = low + WIDTH
        holds = low < end and high > start
        last = low < end <= high
        piece = data[max(0, low - start) : None if last else high - start] if holds else b""
        yield Piece(packed[low:high], channel, decoder.decode(piece, last))
