"""Whose clock the times of a reply are, and that the kernel's do not depend on when the client gets round to reading."""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from replayer.wire import kernel_stamps, remote
from replayer.wire.client import WireClient
from replayer.wire.remote import Receiver
from replayer.wire.types import Delta, Reply, Request
from tests.wire.certificates import make
from tests.wire.serving import DONE, Received, chat, chunk, delta, finish, serving, stream_head

TRIES = 200
"""A stamp may lack now and then (the first packets of a machine, a clock that could not be read): asked again."""


async def first_stamped_by_kernel(ask: Callable[[], Awaitable[Reply]]) -> Reply:
    for _ in range(TRIES):
        reply = await ask()
        assert reply.fault is None and reply.done
        if reply.timing.stamped_by == "kernel":
            return reply
    raise AssertionError(f"none of {TRIES} replies was stamped by the kernel")


async def ordinary(request: Received) -> None:
    await request.send_chunks(*chat())


async def test_a_plain_stream_is_stamped_by_the_kernel() -> None:
    async with serving(ordinary) as server:
        with contextlib.closing(Receiver()) as receiver:
            client = WireClient(server.url, receiver=receiver)
            reply = await first_stamped_by_kernel(lambda: client.chat(Request([b"{}"])))
            await client.aclose()
    timing = reply.timing
    assert timing.headers is not None and timing.first_token is not None
    assert timing.sent <= timing.headers <= timing.first_token <= timing.ended <= time.monotonic_ns()


class Engine:
    """A server in a thread of its own, which sends its second token when told to and says when that was done.

    The end waits as well: bytes that are read together bear one stamp, that of the last.
    """

    def __init__(self) -> None:
        self.go_on, self.sent = threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        sock, _ = self.listener.accept()
        with sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while sock.recv(1 << 16):
                sock.sendall(stream_head() + chunk(delta(role="assistant", content="")))
                sock.sendall(chunk(delta(content="one")))
                self.wait()
                sock.sendall(chunk(delta(content=" two")))
                self.sent.set()
                self.wait()
                sock.sendall(chunk(finish()) + chunk(DONE) + b"0\r\n\r\n")

    def wait(self) -> None:
        self.go_on.wait()
        self.go_on.clear()

    def close(self) -> None:
        self.thread.join()
        self.listener.close()


async def test_a_client_that_reads_late_still_knows_when_the_bytes_came() -> None:
    engine, receiver = Engine(), Receiver()
    client = WireClient(engine.url, receiver=receiver)
    there: list[int] = []

    def busy(piece: Delta) -> None:
        """While the loop is held up here, the next token comes in."""
        if piece.text == "one":
            engine.sent.clear()
            engine.go_on.set()
            engine.sent.wait()
            there.append(time.monotonic_ns())
        else:
            engine.go_on.set()

    reply = await first_stamped_by_kernel(lambda: client.chat(Request([b"{}"]), busy))
    await client.aclose()
    receiver.close()
    engine.close()
    assert reply.content == "one two"
    assert reply.timing.sent + reply.timing.arrivals[1] <= there[-1]


async def stamped_by(url: str, receiver: Receiver | None, verify: ssl.SSLContext | bool = True) -> str:
    client = WireClient(url, verify=verify, receiver=receiver)
    reply = await client.chat(Request([b"{}"]))
    await client.aclose()
    if receiver is not None:
        receiver.close()
    assert reply.fault is None and reply.content == "Hello there"
    return reply.timing.stamped_by


async def test_without_a_receiver_the_client_stamps(tmp_path: Path) -> None:
    server_side, client_side = make(tmp_path)
    async with serving(ordinary, tls=server_side, host="127.0.0.1") as server:
        assert await stamped_by(server.url, None, verify=client_side) == "client"
    async with serving(ordinary) as server:
        assert await stamped_by(server.url, None) == "client"


@pytest.mark.parametrize("option", [9999, socket.SO_KEEPALIVE], ids=["refused", "no stamp comes"])
async def test_without_stamps_the_client_stamps(monkeypatch: pytest.MonkeyPatch, option: int) -> None:
    monkeypatch.setattr(kernel_stamps, "_SO_TIMESTAMPNS", option)
    async with serving(ordinary) as server:
        assert await stamped_by(server.url, Receiver()) == "client"


async def test_stamps_are_not_used_while_the_wall_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = kernel_stamps.Clock()
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_000)
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_000_000)
    assert [clock.offset(), clock.offset()] == [4_999_999_000] * 2
    monkeypatch.setattr(time, "time_ns", lambda: 6_000_000_000)
    assert [clock.offset(), clock.offset()] == [None, 5_999_999_000]


async def test_a_stamp_that_cannot_be_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, main = remote._SCRIPT.split("from replayer.wire.receiver import main; ")
    ahead = "from replayer.wire.receiver import Clock, main; Clock.offset = lambda clock: 0; "
    monkeypatch.setattr(remote, "_SCRIPT", begin + ahead + main)  # stamps of 1970 plus the wall clock
    async with serving(ordinary) as server:
        assert await stamped_by(server.url, Receiver()) == "client"
