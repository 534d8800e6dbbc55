"""What users behind gateways meet: TLS, proxies, IPv6, compression, keep-alive races, redirects, odd framing."""

import asyncio
import gzip
import socket
import ssl
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from replayer.errors import PlanError
from replayer.wire.client import WireClient
from replayer.wire.dial import environment_proxy, read_url
from replayer.wire.limits import Timeouts
from replayer.wire.types import Reply, Request
from tests.wire import certificates
from tests.wire.serving import (
    Received,
    chat,
    chunk,
    plain,
    serving,
    serving_raw,
    stream_head,
)

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return certificates.make(tmp_path_factory.mktemp("tls"))


async def ordinary(request: Received) -> None:
    await request.send_chunks(*chat())


async def ask(url: str, times: int = 1, **options: Any) -> Reply:
    client = WireClient(url, **options)
    try:
        for _ in range(times):
            reply = await client.chat(Request([b"{}"]))
        return reply
    finally:
        await client.aclose()


def is_ordinary(reply: Reply) -> bool:
    return (reply.content, reply.done, reply.fault, reply.notes) == ("Hello there", True, None, ())


async def test_what_follows_the_end_of_a_reply_does_not_spoil_it() -> None:
    """Comments beyond every limit, or bytes that are not gzip, in the same packet as `[DONE]`."""

    async def comments(request: Received) -> None:
        await request.send(stream_head() + chunk(b"".join(chat()) + b": x\n\n" * 40_000))

    async def junk(request: Received) -> None:
        packed = gzip.compress(b"".join(chat())) + b"not gzip" * 100
        await request.send(plain(packed, headers="Content-Encoding: gzip\r\n"))

    for answer in (comments, junk):
        async with serving(answer) as server:
            reply = await ask(server.url)
        assert (reply.content, reply.done, reply.fault) == ("Hello there", True, None), answer


# TLS


async def test_tls(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async with serving(ordinary, tls=tls[0]) as server:
        assert is_ordinary(await ask(server.url, times=2, verify=tls[1]))
        assert [request.connection for request in server.requests] == [1, 1]
        assert is_ordinary(await ask(server.url, verify=False))


async def test_a_certificate_that_is_not_trusted_is_told_at_once(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async with serving(ordinary, tls=tls[0]) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "unreachable" and reply.timing.retries == 0
    assert "certificate is not trusted" in reply.fault.message


async def test_tls_spoken_to_a_plain_server() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving_raw(connected) as server:
        reply = await ask(server.url.replace("http:", "https:"), verify=False)
    assert reply.fault is not None and reply.fault.kind == "unreachable" and reply.timing.retries == 0
    assert "does not speak TLS" in reply.fault.message


# Proxies


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


class Proxy:
    """A CONNECT proxy that also answers plain requests itself, as a gateway with a cache would."""

    def __init__(self, refuse: str = "") -> None:
        self.heads: list[str] = []
        self._refuse = refuse

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        method, target, _ = head.split(" ", 2)
        if self._refuse:
            writer.write(f"HTTP/1.1 {self._refuse}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        if method != "CONNECT":
            await reader.readuntil(b"{}")
            writer.write(stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n")
            await reader.read()
            return
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(forward(reader, far_writer), forward(far_reader, writer))
        finally:
            far_writer.transport.abort()
            await asyncio.sleep(0)


async def test_a_plain_request_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Proxy()
    async with serving_raw(proxy) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:p%40ss@127.0.0.1:{server.port}")
        assert is_ordinary(await ask("http://engine.example/v1"))
    assert proxy.heads[0].startswith(
        "POST http://engine.example/v1/chat/completions HTTP/1.1\r\nHost: engine.example\r\n"
    )
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in proxy.heads[0]


@pytest.mark.parametrize("secure_proxy", [False, True])
async def test_tls_through_a_tunnel(tls: tuple[ssl.SSLContext, ssl.SSLContext], secure_proxy: bool) -> None:
    proxy = Proxy()
    async with (
        serving(ordinary, tls=tls[0]) as server,
        serving_raw(proxy, tls=tls[0] if secure_proxy else None) as way,
    ):
        scheme = "https" if secure_proxy else "http"
        reply = await ask(
            f"https://localhost:{server.port}/v1",
            2,
            verify=tls[1],
            proxy=f"{scheme}://me:x@127.0.0.1:{way.port}",
        )
        assert is_ordinary(reply)
        assert [request.connection for request in server.requests] == [1, 1]
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT localhost:{server.port} HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic bWU6eA==" in head
    assert "proxy-authorization" not in server.requests[0].headers


async def test_a_proxy_that_refuses_the_tunnel(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    proxy = Proxy(refuse="407 Proxy Authentication Required")
    async with serving_raw(proxy) as way:
        reply = await ask("https://engine.example/v1", verify=tls[1], proxy=f"http://127.0.0.1:{way.port}")
    assert reply.fault is not None and reply.fault.kind == "unreachable" and reply.timing.retries == 0
    assert "refuses a tunnel to engine.example:443: 407 Proxy Authentication Required" in reply.fault.message


@pytest.mark.parametrize(
    ("url", "no_proxy", "expected"),
    [
        ("http://engine.example/v1", "", True),
        ("https://engine.example/v1", "other.example", True),
        ("http://engine.example/v1", "engine.example", False),
        ("http://a.engine.example/v1", ".engine.example", False),
        ("http://a.engine.example/v1", "x, engine.example ", False),
        ("http://notengine.example/v1", "engine.example", True),
        ("http://engine.example:8000/v1", "engine.example:8000", False),
        ("http://engine.example:8001/v1", "engine.example:8000", True),
        ("http://engine.example/v1", "*", False),
        ("http://10.1.2.3/v1", "10.0.0.0/8", False),
        ("http://11.1.2.3/v1", "10.0.0.0/8", True),
        ("http://[fd00::1]:8000/v1", "[fd00::1]", False),
        ("http://127.0.0.1:8000/v1", "", False),
        ("http://[::1]:8000/v1", "", False),
        ("http://localhost:8000/v1", "", False),
    ],
)
def test_no_proxy(monkeypatch: pytest.MonkeyPatch, url: str, no_proxy: str, expected: bool) -> None:
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert environment_proxy(read_url(url)[0]) == ("http://proxy.example:3128" if expected else None)


def test_a_socks_proxy_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example:1080")
    with pytest.raises(PlanError, match="SOCKS proxy, which is not supported"):
        WireClient("http://engine.example/v1")


def test_a_password_is_never_shown() -> None:
    for url in ("http://me:secret@host:port/", "ftp://me:secret@host/"):
        with pytest.raises(PlanError) as caught:
            WireClient("http://engine.example/v1", proxy=url)
        assert "secret" not in str(caught.value) and "host" in str(caught.value)


# Addresses


async def test_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:  # a machine without IPv6 shows what its users are told
        reply = await ask("http://[::1]:9/v1", retries=0)
        assert reply.fault is not None and reply.fault.message.startswith("cannot connect to http://[::1]:9")
        return
    async with serving(ordinary, host="::1") as server:
        assert is_ordinary(await ask(server.url))
    assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:{free}/v1", "cannot connect to http://127.0.0.1:{free}: connection refused"),
        ("http://localhost:{free}/v1", "cannot connect to http://localhost:{free}: connection refused"),
        ("http://engine.invalid/v1", "cannot connect to http://engine.invalid: the name is not known"),
    ],
)
async def test_nobody_there(url: str, message: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    reply = await ask(url.format(free=port), retries=1)
    assert reply.fault is not None
    assert (reply.fault.kind, reply.fault.message) == ("unreachable", message.format(free=port))
    assert reply.timing.retries == (0 if "name" in message else 1)
    assert reply.timing.headers is None and reply.timing.first_token is None


async def test_a_server_that_never_accepts() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        taken = [socket.socket() for _ in range(4)]
        for one in taken:
            one.setblocking(False)
            one.connect_ex(address)
        reply = await ask(f"http://127.0.0.1:{address[1]}/v1", retries=0, timeouts=Timeouts(connect=0.2))
        for one in taken:
            one.close()
    assert reply.fault is not None and "no connection to http://127.0.0.1" in reply.fault.message
    assert reply.fault.message.endswith("within 0.2 s")


# Compressed bodies


def deflate_raw(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODINGS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    ("deflate", zlib.compress),
    ("deflate", deflate_raw),
    ("zstd", zstandard.compress),
    ("identity", bytes),
]


@pytest.mark.parametrize(("name", "encode"), ENCODINGS)
@pytest.mark.parametrize("size", [1, 50, 100_000])
async def test_compressed_bodies(name: str, encode: Callable[[bytes], bytes], size: int) -> None:
    packed = encode(b"".join(chat()))
    pieces = [packed[i : i + size] for i in range(0, len(packed), size)]

    async def answer(request: Received) -> None:
        await request.send_chunks(*pieces, headers=f"Content-Encoding: {name}\r\n")

    async with serving(answer) as server:
        assert is_ordinary(await ask(server.url))
    assert server.requests[0].headers["accept-encoding"] == "identity"


async def test_deltas_of_a_compressed_stream_arrive_one_by_one() -> None:
    arrived = asyncio.Event()

    async def answer(request: Received) -> None:
        packer = zlib.compressobj(wbits=31)
        await request.send(stream_head("Content-Encoding: gzip\r\n"))
        for event in chat():
            arrived.clear()
            await request.send(chunk(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)))
            if b'"content":"' in event and b'"content":""' not in event:
                await arrived.wait()  # the next one is not sent before this one was seen
        await request.send(chunk(packer.flush()), b"0\r\n\r\n")

    async with serving(answer) as server:
        client = WireClient(server.url)
        reply = await client.chat(Request([b"{}"]), lambda piece: arrived.set())
        await client.aclose()
    assert is_ordinary(reply) and len(set(reply.timing.arrivals)) == 2


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("lzma", b"x", "content encoding 'lzma', which is not one of"),
        ("gzip", b"no gzip", "cannot be read"),
        ("br", b"no brotli", "cannot be read"),
    ],
)
async def test_bodies_that_cannot_be_unpacked(name: str, body: bytes, message: str) -> None:
    async with serving(lambda r: r.send_chunks(body, headers=f"Content-Encoding: {name}\r\n")) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "stream_broken" and message in reply.fault.message


# Keep-alive


async def test_connections_are_kept() -> None:
    async with serving(ordinary) as server:
        await ask(server.url, times=3)
    assert [request.connection for request in server.requests] == [1, 1, 1]


async def test_connections_are_not_kept_where_the_server_says_so() -> None:
    async def answer(request: Received) -> None:
        await request.send_chunks(*chat(), headers="Connection: close\r\n")

    async with serving(answer) as server:
        assert is_ordinary(await ask(server.url, times=2))
    assert [request.connection for request in server.requests] == [1, 2]


async def test_a_server_that_closes_an_idle_connection_between_requests() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n")

    async with serving_raw(connected) as server:
        client = WireClient(server.url, retries=0)
        assert is_ordinary(await client.chat(Request([b"{}"])))
        while any(connection.reusable for connection in client._idle):
            await asyncio.sleep(0)  # until the client has seen it
        reply = await client.chat(Request([b"{}"]))
        await client.aclose()
    assert is_ordinary(reply) and reply.timing.retries == 0


async def test_a_server_that_closes_an_idle_connection_just_as_it_is_used() -> None:
    """The race itself: the second request on a connection is read, then the connection is closed unanswered."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n")
        await reader.readuntil(b"{}")

    async with serving_raw(connected) as server:
        client = WireClient(server.url, retries=0)
        first, second = [await client.chat(Request([b"{}"])) for _ in range(2)]
        await client.aclose()
    assert is_ordinary(first) and first.timing.retries == 0
    assert is_ordinary(second) and second.timing.retries == 1


async def test_a_new_connection_that_is_closed_unanswered_is_not_tried_again() -> None:
    """The engine may have begun: only where it cannot have is a request sent twice."""
    seen = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        seen.append(1)

    async with serving_raw(connected) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "stream_broken" and len(seen) == 1
    assert "before it answered" in reply.fault.message


# Redirects, statuses, odd framing


async def test_a_redirect_is_refused_in_a_sentence() -> None:
    async with serving(
        lambda r: r.send(plain(b"", "308 Permanent Redirect", "Location: https://a.example/v1\r\n"))
    ) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "unreachable" and len(server.requests) == 1
    assert reply.fault.message == (
        "the server redirects (status 308) to https://a.example/v1; "
        "redirects are not followed, give the final address as URL"
    )


@pytest.mark.parametrize("status", ["429 Too Many Requests", "502 Bad Gateway", "503 Service Unavailable"])
async def test_an_engine_that_has_not_begun_is_asked_again(status: str) -> None:
    async def answer(request: Received) -> None:
        if len(server.requests) < 3:
            await request.send(plain(b"busy", status, "Retry-After: 0\r\n"))
        else:
            await ordinary(request)

    async with serving(answer) as server:
        reply = await ask(server.url)
        assert is_ordinary(reply) and reply.timing.retries == 2
        del server.requests[:]
        reply = await ask(server.url, retries=1)
    assert reply.fault is not None and reply.timing.retries == 1 and reply.fault.message == "busy"
    assert reply.fault.kind == ("server_error" if status.startswith("502") else "overloaded")


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "500 Internal Server Error"])
async def test_other_errors_are_final(status: str) -> None:
    async with serving(lambda r: r.send(plain(b'{"error":"no"}', status))) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and (reply.fault.message, reply.fault.status) == ("no", int(status[:3]))
    assert len(server.requests) == 1 and reply.timing.first_token is None


async def test_an_interim_response_is_passed_over() -> None:
    async with serving(
        lambda r: r.send(b"HTTP/1.1 100 Continue\r\n\r\n", stream_head(), *map(chunk, chat()), b"0\r\n\r\n")
    ) as server:
        assert is_ordinary(await ask(server.url, times=2))


async def test_a_body_that_ends_with_the_connection() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(chat()))

    async with serving_raw(connected) as server:
        assert is_ordinary(await ask(server.url, times=2))


async def test_a_response_that_goes_on_after_done() -> None:
    async with serving(lambda r: r.send(stream_head(), *map(chunk, chat()))) as server:
        reply = await ask(server.url, timeouts=Timeouts(idle=300))
    assert is_ordinary(reply)
    assert reply.timing.ended - reply.timing.sent < 150e9  # the last byte, not when the patience ended


async def test_a_stream_that_breaks_off_keeps_its_text() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(stream_head() + b"".join(map(chunk, chat()[:2])) + b"40\r\ndata: {")

    async with serving_raw(connected) as server:
        reply = await ask(server.url)
    assert reply.content == "Hello" and not reply.done and reply.timing.retries == 0
    assert reply.fault is not None and reply.fault.kind == "stream_broken"
    assert reply.fault.message == "the server closed the connection in the middle of the answer"
    assert reply.notes == ()


@pytest.mark.parametrize(
    "body", [b"SSH-2.0-OpenSSH_9\r\n", b"<html>", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
async def test_a_server_that_speaks_no_http(body: bytes) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(body)

    async with serving_raw(connected) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.message.startswith("the answer is not HTTP")


async def test_text_before_broken_framing_is_kept() -> None:
    body = stream_head() + b"".join(map(chunk, chat()[:3])) + b"no chunk size\r\n"
    async with serving(lambda r: r.send(body)) as server:
        reply = await ask(server.url)
    assert reply.content == "Hello there"
    assert reply.fault is not None and reply.fault.message.startswith("the answer is not HTTP")


async def test_an_answer_that_comes_twice() -> None:
    answer = stream_head() + b"".join(map(chunk, chat())) + b"0\r\n\r\n"
    async with serving(lambda r: r.send(answer + answer)) as server:
        assert is_ordinary(await ask(server.url, times=3))


async def test_a_page_instead_of_an_engine() -> None:
    page = plain(b"<html>Sign in</html>", headers="Content-Type: text/html\r\n")
    async with serving(lambda r: r.send(page)) as server:
        reply = await ask(server.url)
    assert reply.fault is not None and reply.fault.kind == "server_error"
    assert reply.fault.message == "the answer is not a chat completion: <html>Sign in</html>"
