"""A reply as the tokens that the model generates, and what each of them delivers to the client."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replayer.engines.simulated.replies import Call, Reply
from replayer.engines.simulated.tokens import WIDTH, call_markup, encode


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
        yield from _attach(f"<think>{reply.reasoning}</think>", "reasoning", reply.reasoning)
    if reply.content:
        yield from _attach(reply.content, "content", reply.content)
    for number, call in enumerate(reply.calls):
        yield from _call(number, call)


def _call(number: int, call: Call) -> Iterator[Piece]:
    markup = call_markup(call.name, call.generated or call.arguments)
    if call.dropped:
        yield from _attach(markup, "", "")
        return
    for at, piece in enumerate(_attach(markup, "arguments", call.arguments, skip=1)):
        yield piece._replace(call=number, opens=at == 0)


def _attach(markup: str, channel: str, text: str, *, skip: int = 0) -> Iterator[Piece]:
    """Pair the tokens of the markup with the deltas of the delivered text, in order."""
    packed = encode(markup)
    deltas = [""] * skip + _split(text)
    count = len(packed) // WIDTH
    if len(deltas) > count:
        deltas[count - 1 :] = ["".join(deltas[count - 1 :])]
    for at in range(count):
        delta = deltas[at] if at < len(deltas) else ""
        yield Piece(packed[at * WIDTH : (at + 1) * WIDTH], channel, delta)


def _split(text: str) -> list[str]:
    """The text of each 4-byte token; a character cut by a token's end belongs to the next one."""
    data = text.encode("utf-8", "replace")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(data[at : at + WIDTH]) for at in range(0, len(data), WIDTH)]
