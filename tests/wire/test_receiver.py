"""The receiver process: replies come through it as they do without it, with times that a busy judge cannot spoil."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replayer.wire.client import WireClient
from replayer.wire.remote import Receiver, ReceiverLost
from replayer.wire.types import Delta, Reply, Request
from tests.wire.certificates import make
from tests.wire.serving import DONE, Received, chat, chunk, delta, finish, serving, serving_raw, stream_head


async def ordinary(request: Received) -> None:
    await request.send_chunks(*chat())


async def test_a_reply_comes_through_the_receiver_with_kernel_stamps() -> None:
    receiver = Receiver()
    async with serving(ordinary) as server:
        client = WireClient(server.url, receiver=receiver)
        replies = [await client.chat(Request([b"{}"])) for _ in range(20)]
        await client.aclose()
    receiver.close()
    assert all(reply.content == "Hello there" and reply.done and reply.fault is None for reply in replies)
    timing = replies[-1].timing
    assert timing.headers is not None and timing.first_token is not None
    assert timing.sent <= timing.headers <= timing.first_token <= timing.ended <= time.monotonic_ns()
    assert any(reply.timing.stamped_by == "kernel" for reply in replies)
    assert any(reply.timing.late_ns is not None for reply in replies)


async def replied(serve: Callable[[socket.socket, Receiver], None], hear: Callable[[Delta], bool]) -> Reply:
    """The reply of an engine that a thread plays, whatever holds the loop here up."""
    engine = socket.create_server(("127.0.0.1", 0))
    receiver = Receiver()

    def play() -> None:
        sock, _ = engine.accept()
        with sock:
            sock.recv(1 << 16)
            serve(sock, receiver)

    thread = threading.Thread(target=play)
    thread.start()
    client = WireClient(f"http://127.0.0.1:{engine.getsockname()[1]}/v1", receiver=receiver)
    reply = await client.chat(Request([b"{}"]), hear)
    await client.aclose()
    receiver.close()
    thread.join()
    engine.close()
    return reply


async def test_a_judge_that_is_busy_delays_no_stamp() -> None:
    """The loop here is held up by the first word until the engine has sent the last one."""
    first, last = threading.Event(), threading.Event()

    def serve(sock: socket.socket, _: Receiver) -> None:
        sock.sendall(stream_head() + chunk(delta(content="0 ")))
        first.wait()
        for number in range(1, 5):
            sock.sendall(chunk(delta(content=f"{number} ")))
            time.sleep(0.03)
        last.set()
        sock.sendall(chunk(finish()) + chunk(DONE) + b"0\r\n\r\n")

    def hold(piece: Delta) -> None:
        if piece.text == "0 ":
            first.set()
            last.wait()
            free.append(time.monotonic_ns())

    free: list[int] = []
    reply = await replied(serve, hold)
    assert reply.content == "0 1 2 3 4 "
    stamps = [reply.timing.sent + arrival for arrival in reply.timing.arrivals]
    assert len(set(stamps)) == 5 and stamps[-1] <= free[0]


async def test_what_came_while_the_receiver_was_stopped_is_late() -> None:
    """What piled up has the stamp of its last packet, which came just now: only the time away from the socket shows it."""
    first = threading.Event()

    def serve(sock: socket.socket, receiver: Receiver) -> None:
        sock.sendall(stream_head() + chunk(delta(content="0 ")))
        first.wait()
        os.kill(receiver.pid, signal.SIGSTOP)
        sock.sendall(chunk(delta(content="1 ")))
        time.sleep(0.1)
        sock.sendall(chunk(delta(content="2 ")))
        os.kill(receiver.pid, signal.SIGCONT)
        sock.sendall(chunk(finish()) + chunk(DONE) + b"0\r\n\r\n")

    reply = await replied(serve, lambda piece: first.set() or False)
    assert reply.content == "0 1 2 " and reply.timing.late_ns is not None
    assert reply.timing.late_ns > 50_000_000


class Slow(list[bytes]):
    """Pieces of a body, the last one late; `at` is when it was there."""

    at = 0

    def __iter__(self) -> Iterator[bytes]:
        yield self[0]
        time.sleep(0.05)
        self.at = time.monotonic_ns()
        yield self[1]


async def test_a_judge_that_is_held_up_in_the_middle_of_a_request_makes_no_engine_slow() -> None:
    """The request goes out, and time begins, when all of it is there."""
    body = Slow([b"x" * 100_000, b"y" * 100_000])
    receiver = Receiver()
    async with serving(ordinary) as server:
        client = WireClient(server.url, receiver=receiver)
        replies = [await client.chat(Request(body)) for _ in range(2)]
        await client.aclose()
    receiver.close()
    assert [request.body for request in server.requests] == [b"".join(list.__iter__(body))] * 2
    assert replies[-1].done and replies[-1].timing.sent >= body.at


async def test_a_body_larger_than_any_buffer_arrives_whole() -> None:
    sizes = []

    async def measure(request: Received) -> None:
        sizes.append(len(request.body))
        await ordinary(request)

    receiver = Receiver()
    pieces = [b"x" * 300_000 for _ in range(40)]
    async with serving(measure) as server:
        client = WireClient(server.url, receiver=receiver)
        replies = await asyncio.gather(*(client.chat(Request(pieces)) for _ in range(8)))
        await client.aclose()
    receiver.close()
    assert sizes == [12_000_000] * 8
    assert all(reply.done for reply in replies)


async def test_more_sockets_than_one_message_takes_all_arrive() -> None:
    """While the receiver reads nothing, sockets wait, and then go over in as many messages as they need."""
    receiver = Receiver()
    bodies = [b"%03d" % number * 20_000 for number in range(90)]
    async with serving(ordinary) as server:
        client = WireClient(server.url, receiver=receiver)
        os.kill(receiver.pid, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(0.2, os.kill, receiver.pid, signal.SIGCONT)
        async with asyncio.timeout(10):
            replies = await asyncio.gather(*(client.chat(Request([body])) for body in bodies))
        await client.aclose()
    receiver.close()
    assert {request.body for request in server.requests} == set(bodies)
    assert all(reply.done and reply.fault is None for reply in replies)


async def test_a_stop_closes_the_connection() -> None:
    gone = asyncio.Event()

    async def endless(request: Received) -> None:
        try:
            await request.send(stream_head())
            while True:
                await request.send(chunk(delta(content="again ")))
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    def third(piece: Delta) -> bool:
        seen.append(piece)
        return len(seen) == 3

    seen: list[Delta] = []
    receiver = Receiver()
    async with serving(endless) as server:
        client = WireClient(server.url, receiver=receiver)
        reply = await client.chat(Request([b"{}"]), third)
        await asyncio.wait_for(gone.wait(), 10)
        await client.aclose()
    receiver.close()
    assert reply.stopped_by_us and reply.content == "again again again "


async def test_a_receiver_that_is_killed_is_no_fault_of_the_engine() -> None:
    async def hold(request: Received) -> None:
        await request.send(stream_head(), chunk(delta(content="half")))
        os.kill(receiver.pid, signal.SIGKILL)
        await request.writer.wait_closed()

    receiver = Receiver()
    async with serving(hold) as server:
        client = WireClient(server.url, receiver=receiver, retries=0)
        for _ in range(2):  # the next request must not go on without stamps in silence
            with pytest.raises(ReceiverLost, match="the receiving process was killed by signal 9"):
                await client.chat(Request([b"{}"]))
        await client.aclose()
    receiver.close()


async def test_a_receiver_ends_with_its_judge() -> None:
    receiver = Receiver()
    pid = receiver.pid
    receiver.close()
    assert not os.path.exists(f"/proc/{pid}")


async def test_within_tls_the_kernel_stamps_too(tmp_path: Path) -> None:
    server_side, client_side = make(tmp_path)
    receiver = Receiver()
    async with serving(ordinary, tls=server_side) as server:
        client = WireClient(server.url, verify=client_side, receiver=receiver)
        replies = [await client.chat(Request([b"x" * 400_000])) for _ in range(20)]
        await client.aclose()
    receiver.close()
    assert all(reply.content == "Hello there" and reply.fault is None for reply in replies)
    assert any(reply.timing.stamped_by == "kernel" for reply in replies)


async def test_a_certificate_that_is_not_trusted_is_refused(tmp_path: Path) -> None:
    server_side, _ = make(tmp_path)
    receiver = Receiver()
    async with serving(ordinary, tls=server_side) as server:
        client = WireClient(server.url, receiver=receiver)
        reply = await client.chat(Request([b"{}"]))
        await client.aclose()
    receiver.close()
    assert reply.fault is not None and "certificate is not trusted" in reply.fault.message
    assert reply.timing.retries == 0


async def test_a_server_that_does_not_speak_tls_is_said_so() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    receiver = Receiver()
    async with serving_raw(plain) as server:
        client = WireClient(server.url.replace("http:", "https:"), receiver=receiver)
        reply = await client.chat(Request([b"{}"]))
        await client.aclose()
    receiver.close()
    assert reply.fault is not None and reply.fault.kind == "unreachable"
    assert "does not speak TLS" in reply.fault.message
