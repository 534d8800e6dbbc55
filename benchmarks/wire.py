"""What reading one delta costs on each wire, side by side: CPU time from a packet's bytes to the signal's callback.

python benchmarks/wire.py [DELTAS]

Rounds alternate between the wires, so that other load on the machine hits all of them alike; the median counts.
"""

from __future__ import annotations

import statistics
import sys
import time

import orjson

from replayer.wire.reply import ReplyReader
from replayer.wire.types import Delta, Wire

ROUNDS = 9


def chat(number: int) -> bytes:
    delta = {"index": 0, "delta": {"content": f"tok{number} "}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + orjson.dumps({**head, "choices": [delta]}) + b"\n\n"


def named(event: dict[str, object]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), orjson.dumps(event))


def messages(number: int) -> bytes:
    delta = {"type": "text_delta", "text": f"tok{number} "}
    return named({"type": "content_block_delta", "delta": delta, "index": 0})


def responses(number: int) -> bytes:
    """As vLLM numbers its events."""
    place = {"content_index": 0, "delta": f"tok{number} ", "item_id": "a", "logprobs": [], "output_index": 0}
    return named({**place, "sequence_number": number + 3, "type": "response.output_text.delta"})


START = {
    "chat": b"",
    "messages": named({"type": "message_start", "message": {"usage": {"input_tokens": 9}}})
    + named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    "responses": named(
        {"type": "response.output_item.added", "output_index": 0, "sequence_number": 2,
         "item": {"id": "a", "type": "message"}}
    ),
}  # fmt: skip
EVENTS = {"chat": chat, "messages": messages, "responses": responses}


def cost(wire: Wire, packets: list[bytes]) -> float:
    """Microseconds of CPU for each delta."""
    seen = 0

    def watch(deltas: list[Delta]) -> bool:
        nonlocal seen
        seen += len(deltas)
        return False

    reader = ReplyReader(stream=True, on_deltas=watch, wire=wire)
    reader.sent(0)
    reader.headers(200, (), 0)
    began = time.process_time()
    for at, packet in enumerate(packets):
        reader.body(packet, at)
    spent = time.process_time() - began
    assert seen, "nothing was read"
    return spent / len(packets) * 1e6


def main() -> None:
    deltas = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    wires: tuple[Wire, ...] = ("chat", "messages", "responses")
    packets = {w: [p for p in (START[w], *map(EVENTS[w], range(deltas))) if p] for w in wires}
    costs: dict[Wire, list[float]] = {wire: [] for wire in wires}
    for _ in range(ROUNDS):
        for wire in wires:
            costs[wire].append(cost(wire, packets[wire]))
    base = statistics.median(costs["chat"])
    for wire in wires:
        middle = statistics.median(costs[wire])
        print(f"{wire:<10} {middle:6.2f} us a delta  {middle / base:5.2f} of chat")


if __name__ == "__main__":
    main()
