"""Streams that no engine sends: captured ones with events and bytes lost, doubled, moved, mixed and replaced.

`python -m tests.wire.fuzzing N [SEED]` reads N of them and prints how many there were and the slowest.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

from replayer.tools.verdicts.request_facts import RequestFacts, read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import Case, judge
from replayer.wire import assembly
from replayer.wire.reply import assemble
from replayer.wire.types import WIRES, Delta, Reply
from tests.tools.exchanges import TOOLS
from tests.wire.captured import FIXTURES, bases, load

_LONGEST = 12_000
_ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 2**70, "", "x", "\ud800", "\x00", "null", "[DONE]"),
    *([], {}, [[]], [None], {"text": 1}, {"type": "tool_use"}, {"index": 0}, "response.completed", "message_stop"),
]  # fmt: skip
_BYTES = [b"\n", b"\r", b"\r\n\r\n", b"\xff", b"{", b'"', b"data: ", b"event: error\n", b"\xef\xbb\xbf", b":"]
_VALIDATOR = Validator(read_request({"messages": [], "tools": TOOLS}).tools)


def seeds() -> list[list[bytes]]:
    """The events of the captured streams of all wires."""
    found = [capture.body for capture in map(load, bases(FIXTURES)) if capture.streamed and capture.wire]
    return [body.split(b"\n\n") for body in found if len(body) < _LONGEST]


def stream(pick: random.Random, pool: Sequence[list[bytes]]) -> bytes:
    """One stream, sound or not."""
    events = list(pick.choice(pool))
    for _ in range(pick.randrange(6)):
        pick.choice(_CHANGES)(events, pick, pool)
    body = pick.choice([b"\n\n", b"\n\n", b"\n\n", b"\r\n\r\n", b"\r\r"]).join(events)
    for _ in range(pick.choice([0, 0, 0, 1, 4])):
        at = pick.randrange(len(body) + 1)
        body = body[:at] + pick.choice(_BYTES) + body[at + pick.randrange(3) :]
    return body[: pick.randrange(len(body) + 1)] if pick.random() < 0.1 else body


def _drop(events: list[bytes], pick: random.Random, pool: Sequence[list[bytes]]) -> None:
    if events:
        del events[pick.randrange(len(events))]


def _double(events: list[bytes], pick: random.Random, pool: Sequence[list[bytes]]) -> None:
    if events:
        events.insert(pick.randrange(len(events)), pick.choice(events))


def _swap(events: list[bytes], pick: random.Random, pool: Sequence[list[bytes]]) -> None:
    pick.random() < 0.5 and pick.shuffle(events)
    events[:] = events[pick.randrange(len(events)) :] + events[:1] if events else events


def _mix(events: list[bytes], pick: random.Random, pool: Sequence[list[bytes]]) -> None:
    other = pick.choice(pool)
    begin = pick.randrange(len(other))
    at = pick.randrange(len(events) + 1)
    events[at:at] = other[begin : begin + 3]


def _bend(events: list[bytes], pick: random.Random, pool: Sequence[list[bytes]]) -> None:
    """Another value, name or place for one field of one event."""
    if not events:
        return
    place = pick.randrange(len(events))
    head, mark, data = events[place].rpartition(b"data: ")
    try:
        payload = json.loads(data)
    except ValueError:
        return
    holder = payload
    while isinstance(holder, (dict, list)) and holder:
        key = pick.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if pick.random() < 0.4 or not isinstance(holder[key], (dict, list)):
            if isinstance(holder, dict) and pick.random() < 0.3:
                holder[pick.choice(["type", "index", "id", "delta", "error"])] = holder.pop(key)
            else:
                holder[key] = pick.choice(_ODD)
            break
        holder = holder[key]
    events[place] = head + mark + json.dumps(payload).encode()


_CHANGES: list[Callable[[list[bytes], random.Random, Sequence[list[bytes]]], None]]
_CHANGES = [_drop, _double, _swap, _mix, _bend, _bend, _bend]


def read(body: bytes | list[bytes], wire: Any) -> tuple[Reply, list[Delta]]:
    deltas: list[Delta] = []
    return assemble(body, on_delta=deltas.append, wire=wire), deltas


def check(pick: random.Random, pool: Sequence[list[bytes]]) -> Reply:
    """One stream: however its bytes are cut, and on the slow path as on the fast one, the reply is the same."""
    body = stream(pick, pool)
    wire = pick.choice([*WIRES, None, None, None, None, None, None])
    found = read(body, wire)
    cuts = sorted(pick.randrange(len(body) + 1) for _ in range(pick.randrange(1, 12)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert read(pieces, wire) == found, (wire, pieces)
    with mock.patch.object(assembly, "learn", lambda *_: None):
        assert read(body, wire) == found, (wire, body)
    judge(Case(found[0], _VALIDATOR, RequestFacts()))
    return found[0]


def main() -> None:
    number, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    pool, pick, seen = seeds(), random.Random(seed), Counter[str]()
    slowest = 0.0
    for _ in range(number):
        begun = time.perf_counter()
        reply = check(pick, pool)
        slowest = max(slowest, time.perf_counter() - begun)
        seen[f"{reply.wire}, {'fault' if reply.fault else 'noted' if reply.notes else 'sound'}"] += 1
    print(number, f"streams, the slowest took {slowest * 1000:.0f} ms for three readings", dict(seen))


if __name__ == "__main__":
    main()
