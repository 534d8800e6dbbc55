"""Reaching a server behind gateways: TLS, proxies, IPv6, nobody there."""

import asyncio
import socket
import ssl

import pytest

from replayer.errors import PlanError
from replayer.wire.client import WireClient
from replayer.wire.dial import environment_proxy, read_url
from replayer.wire.limits import Timeouts
from tests.wire import certificates
from tests.wire.asking import ask, is_ordinary, ordinary
from tests.wire.serving import (
    chat,
    chunk,
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
