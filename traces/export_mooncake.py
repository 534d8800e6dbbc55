"""Native traces as Mooncake's lengths and block hashes.

Token-only turns keep their lengths, and their hashes where the block size is Mooncake's. Turns with text are estimated
at four characters a token, block by block over the whole prompt, with ids that are equal where everything before is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import count

import orjson

from replayer.traces.importers.token_traces import MOONCAKE_BLOCK
from replayer.traces.reader import Trace
from replayer.traces.schema import TokenShape, Turn
from replayer.traces.tally import CHARS_PER_TOKEN, text_size

_Ids = defaultdict[object, int]
"""Small numbers for blocks, in the order in which they are first seen."""


def to_mooncake(trace: Trace, thread: str | None) -> Iterator[bytes]:
    """JSON lines `{timestamp, input_length, output_length, hash_ids}`, one per turn; timestamps in ms from the first."""
    ids = _Ids(count().__next__)
    begin: float | None = None
    for turn in trace.turns:
        if thread not in (None, turn.thread):
            continue
        started = turn.times.started if turn.times else None
        begin = started if begin is None else begin
        at = 0 if started is None or begin is None else round((started - begin) * 1000)
        if turn.tokens is not None:
            length, answer = turn.tokens.input_tokens, turn.tokens.output_tokens
            hashes = _shape(turn.tokens, ids)
        else:
            length, answer, hashes = _estimated(trace, turn, ids)
        line = {"timestamp": at, "input_length": length, "output_length": answer, "hash_ids": hashes}
        yield orjson.dumps(line) + b"\n"


def _shape(shape: TokenShape, ids: _Ids) -> list[int]:
    """Hashes of 512-token blocks from those of the trace's own size; each id stands for all that is before it."""
    if shape.block_size == MOONCAKE_BLOCK:
        return list(shape.block_hashes)
    step = max(1, MOONCAKE_BLOCK // shape.block_size)
    blocks = -(-shape.input_tokens // MOONCAKE_BLOCK)
    return [ids[shape.block_hashes[: (n + 1) * step], n] for n in range(blocks)]


def _estimated(trace: Trace, turn: Turn, ids: _Ids) -> tuple[int, int, list[int]]:
    size = MOONCAKE_BLOCK * CHARS_PER_TOKEN
    digest, held, total = blake2b(digest_size=16), 0, 0
    hashes: list[int] = []
    for number in trace.context(turn.id):
        item = trace.item(number)
        length = text_size(item)
        digest.update(f"{number}:".encode())
        total += length
        held += length
        while held >= size:
            digest.update(b"|")
            hashes.append(ids[digest.digest()])
            held -= size
    if held or not hashes:
        hashes.append(ids[digest.digest(), held])
    said = sum(text_size(trace.item(number)) for number in turn.produced)
    return max(1, -(-total // CHARS_PER_TOKEN)), max(1, said // CHARS_PER_TOKEN), hashes
