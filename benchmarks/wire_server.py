"""A mock engine that is faster than any client: pre-rendered streams, or paced ones that carry their send stamps.

Started by `benchmarks/wire.py`, pinned to its own core, and by `benchmarks/tui_shift.py`; prints its port, ends when
its standard input closes. A request is answered by what its JSON body asks for, else the second argument:

    deltas       text deltas in the reply
    gap_us       0: all of them as fast as the socket takes them; else the time between two
    first_us     paced: time from the arrival of the request to the first delta
    usage        usage on every chunk (no two chunks are alike then)

Every delta is one SSE event in one HTTP chunk, in the shape vLLM 0.32 streams (tests/captures/vllm-0.32-cpu). The
text of a paced delta is its send stamp, wall clock nanoseconds, preceded in the first one by that of the request's
arrival: the kernel's stamp on Linux, because this process too gets round to a socket when it can.
"""

from __future__ import annotations

import os
import random
import select
import socket
import struct
import sys
import time
from contextlib import suppress
from functools import lru_cache
from heapq import heappop, heappush

import orjson

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
)
CHUNK = (
    b'data: {"id":"chatcmpl-b56c8679531f6b5f","object":"chat.completion.chunk","created":1795225516,'
    b'"model":"smollm2","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s,"token_ids":null}]%s}\n\n'
)
USAGE = b',"usage":{"prompt_tokens":272,"total_tokens":%d,"completion_tokens":%d}'
WORDS = [f" {word}" for word in __doc__.split()] + ['"', "\n    ", "\\", " é", " — done"]
MODELS = b'HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n{"object":"list","data":[{"id":"smollm2"} ]}'
UNKNOWN = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
DEFAULTS: dict[str, int] = orjson.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
NAP_NS = 40_000
TIMESTAMPNS = 35
"""SO_TIMESTAMPNS_OLD of Linux."""


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def text_event(text: bytes, number: int, usage: bool) -> bytes:
    tail = USAGE % (272 + number, number) if usage else b""
    return framed(CHUNK % (b'"content":"%s"' % text, b"null", tail))


def opening() -> bytes:
    return HEAD + framed(CHUNK % (b'"role":"assistant","content":""', b"null", b""))


def closing(deltas: int) -> bytes:
    last = b'data: {"id":"chatcmpl-b56c8679531f6b5f","object":"chat.completion.chunk","choices":[]%s}\n\n'
    finish = framed(CHUNK % (b"", b'"stop"', b"")) + framed(last % (USAGE % (272 + deltas, deltas)))
    return finish + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"


@lru_cache
def rendered(deltas: int, usage: bool) -> bytes:
    """A whole answer."""
    words = random.Random(0).choices(WORDS, k=deltas)  # a text that cycles would be taken for a collapse
    events = [text_event(orjson.dumps(word)[1:-1], i + 1, usage) for i, word in enumerate(words)]
    return opening() + b"".join(events) + closing(deltas)


class Stream:
    """One connection, and what it is being sent."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.received = b""
        self.rest = memoryview(b"")
        self.asked: dict[str, int] = {}
        self.arrived = self.sent = self.due = 0

    def request(self) -> bool:
        """Read; returns whether a whole request is there. Raises ConnectionError at the end."""
        data, ancillary, _, _ = self.sock.recvmsg(1 << 20, 64)
        if not data:
            raise ConnectionError
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        length = next(
            (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
        )
        if not found or len(body) < int(length.split(b":")[1]):
            return False
        self.arrived = stamp(ancillary) or time.time_ns()
        self.received, self.sent = b"", 0
        if head.startswith(b"GET "):
            self.sock.sendall(MODELS if b"/models" in head.split(b" ")[1] else UNKNOWN)
            return False
        self.asked = DEFAULTS | orjson.loads(body)
        return True

    def push(self) -> bool:
        """Send more of a rendered answer; returns whether all is sent."""
        with suppress(BlockingIOError):
            self.rest = self.rest[self.sock.send(self.rest, socket.MSG_DONTWAIT) :]
        return not self.rest

    def tick(self) -> bool:
        """Send the next paced delta; returns whether it was the last."""
        now = time.time_ns()
        text = b"%d" % now if self.sent else b"%d %d" % (self.arrived, now)
        self.sent += 1
        data = text_event(text, self.sent, False)
        last = self.sent == self.asked["deltas"]
        self.sock.sendall(data + closing(self.sent) if last else data)
        return last


def stamp(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The kernel's, wall clock nanoseconds; 0 where there is none."""
    for _, kind, data in ancillary:
        if kind == TIMESTAMPNS and len(data) == 16:
            seconds, nanoseconds = struct.unpack("@qq", data)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return 0


Waiting = list[tuple[int, int, Stream]]
"""Heap of streams by the time of their next delta."""


def serve(listener: socket.socket) -> None:
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    poll.register(0, select.EPOLLIN | select.EPOLLHUP)
    streams: dict[int, Stream] = {}
    waiting: Waiting = []
    while True:
        for number, _ in poll.poll(0 if waiting else -1):
            if number == 0:
                return
            if number == listener.fileno():
                sock, _ = listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if sys.platform == "linux":
                    sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
                poll.register(sock, select.EPOLLIN)
                streams[sock.fileno()] = Stream(sock)
                continue
            handle(poll, streams, number, waiting)
        spend(waiting)
        if waiting and waiting[0][0] - time.monotonic_ns() > NAP_NS:
            time.sleep(NAP_NS / 2e9)  # a core that is never idle is throttled by some schedulers


def handle(poll: select.epoll, streams: dict[int, Stream], number: int, waiting: Waiting) -> None:
    stream = streams[number]
    try:
        if stream.rest:
            if stream.push():
                poll.modify(number, select.EPOLLIN)
        elif stream.request():
            if stream.asked.get("gap_us"):
                stream.sock.sendall(opening())
                # clients' timers tick in whole milliseconds: without a phase of its own each stream would join a burst
                phase = number * 0.618 % 1 * stream.asked["gap_us"]
                stream.due = time.monotonic_ns() + int(stream.asked["first_us"] + phase) * 1000
                heappush(waiting, (stream.due, number, stream))
            else:
                stream.rest = memoryview(rendered(stream.asked["deltas"], bool(stream.asked.get("usage"))))
                poll.modify(number, select.EPOLLOUT)
    except ConnectionError:
        poll.unregister(number)
        stream.sock.close()
        del streams[number]


def spend(waiting: Waiting) -> None:
    """Send what is due."""
    while waiting and waiting[0][0] <= time.monotonic_ns():
        _, number, stream = heappop(waiting)
        with suppress(OSError):
            if not stream.tick():
                stream.due += stream.asked["gap_us"] * 1000
                heappush(waiting, (stream.due, number, stream))


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1]:
        os.sched_setaffinity(0, {int(sys.argv[1])})
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(listener.getsockname()[1], flush=True)
    serve(listener)


if __name__ == "__main__":
    main()
