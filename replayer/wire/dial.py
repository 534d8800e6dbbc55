"""Reaching a server: addresses, TLS, proxies."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import os
import re
import socket
import ssl
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies

from replayer.errors import PlanError
from replayer.lazy import dataclass
from replayer.wire.connection import Connection
from replayer.wire.remote import Receiver
from replayer.wire.tls import TlsTransport
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a URL points. `authority` is for the Host header and a proxy."""

    scheme: str
    host: str
    port: int
    credentials: str | None = None
    """`Basic …`, from a user name in the URL."""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def name(self) -> str:
        return f"{self.scheme}://{self.authority}"


_PORTS = {"http": 80, "https": 443}


def read_url(url: str, what: str = "URL") -> tuple[Origin, SplitResult]:
    """Raises PlanError with a sentence that names the remedy."""
    shown = re.sub(r"//.*@", "//…@", url)  # never a password
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        detail = f": {error}" if shown == url else ""  # a password with a slash stands in it
        raise PlanError(f"{what} {shown!r} cannot be read{detail}") from None
    if parts.scheme.startswith("socks"):
        raise PlanError(
            f"{what} {parts.scheme}://… is a SOCKS proxy, which is not supported: give an HTTP proxy"
        )
    if parts.scheme not in _PORTS or not parts.hostname:
        raise PlanError(f"{what} {shown!r} is not a web address: it must look like http://host:port")
    credentials = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        credentials = "Basic " + base64.b64encode(pair.encode()).decode()
    return Origin(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], credentials), parts


def environment_proxy(origin: Origin) -> str | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY ask for; never one for this very machine."""
    if _is_loopback(origin.host) or _is_exempt(
        origin, os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
    ):
        return None
    proxies = getproxies()
    proxy = proxies.get(origin.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _is_exempt(origin: Origin, no_proxy: str) -> bool:
    return any(_matches(origin, entry.strip().lower()) for entry in no_proxy.split(",") if entry.strip())


def _matches(origin: Origin, entry: str) -> bool:
    """`*`, a name with all names below it, a name with a port, an address or a network."""
    if entry == "*":
        return True
    address = _address(origin.host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            return entry == origin.authority
    name, _, port = entry.removeprefix("*").lstrip(".").partition(":")
    below = origin.host == name or origin.host.endswith("." + name)
    return below and port in ("", str(origin.port))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def tls_context(verify: ssl.SSLContext | bool) -> ssl.SSLContext:
    """One for all connections: building it takes tens of milliseconds."""
    if isinstance(verify, ssl.SSLContext):
        return verify
    import httpx  # slow to import; trusts the same certificates as everything that is not timed

    return httpx.create_ssl_context(verify=verify)


async def dial(
    origin: Origin, proxy: Origin | None, tls: ssl.SSLContext | None, receiver: Receiver | None = None
) -> Connection:
    """A connection over which requests to `origin` can be sent; a plain one through a proxy takes absolute URLs.

    The socket goes to the `receiver` process where there is one; only within a TLS proxy it does not.

    Raises ReceiverLost, and OSError, of which ssl.SSLError, socket.gaierror and TunnelRefused will not go away by trying
    again.
    """
    if receiver is not None and receiver.lost is not None:
        raise receiver.lost
    target = proxy or origin
    remote = receiver if receiver is not None and receiver.alive and target.scheme == "http" else None
    if proxy is None and origin.scheme == "https" and receiver is not None and receiver.alive:
        transport, connection = await _connect(origin, None)
        assert tls is not None
        await _secure(transport, connection, origin, tls, receiver)
        return connection
    transport, connection = await _connect(target, tls)
    if proxy is None or origin.scheme == "http":
        if remote is not None:
            connection.attach(remote.adopt(transport, connection))
        return connection
    tunnel = _Tunnel()
    transport.set_protocol(tunnel)
    await tunnel.open(transport, origin, proxy)
    transport.set_protocol(connection)
    assert tls is not None
    if remote is not None:
        await _secure(transport, connection, origin, tls, remote)
        return connection
    secure = await asyncio.get_running_loop().start_tls(
        transport, connection, tls, server_hostname=origin.host
    )
    assert secure is not None
    connection.attach(secure)
    return connection


async def _secure(
    transport: asyncio.Transport,
    connection: Connection,
    origin: Origin,
    tls: ssl.SSLContext,
    receiver: Receiver,
) -> None:
    """TLS over a socket that the receiver reads."""
    secure = TlsTransport(tls, origin.host, connection)
    await secure.open(receiver.adopt(transport, secure))
    connection.attach(secure)


async def _connect(target: Origin, tls: ssl.SSLContext | None) -> tuple[asyncio.Transport, Connection]:
    loop = asyncio.get_running_loop()
    context = tls if target.scheme == "https" else None
    name = target.host if context is not None else None
    # uvloop does not know the option: there an address that swallows packets costs the whole time-out
    race: JsonObject = {"happy_eyeballs_delay": 0.25} if isinstance(loop, asyncio.BaseEventLoop) else {}
    return await loop.create_connection(
        Connection, target.host, target.port, ssl=context, server_hostname=name, **race
    )


class TunnelRefused(ConnectionError):
    """The proxy's own words."""


class _Tunnel(asyncio.Protocol):
    """The CONNECT request and its answer, after which the connection belongs to the origin."""

    def __init__(self) -> None:
        self._head = b""
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def open(self, transport: asyncio.Transport, origin: Origin, proxy: Origin) -> None:
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        target = f"{host}:{origin.port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if proxy.credentials:
            lines.append(f"Proxy-Authorization: {proxy.credentials}")
        transport.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        try:
            status_line = (await self._answer).split(b"\r\n", 1)[0].decode("latin-1")
        except BaseException:
            transport.abort()
            raise
        status = status_line.split(" ", 2)[1:]
        if not status or not status[0].startswith("2"):
            transport.abort()
            raise TunnelRefused(f"the proxy {proxy.name} refuses a tunnel to {target}: {' '.join(status)}")

    def data_received(self, data: bytes) -> None:
        self._head += data
        if not self._answer.done() and (b"\r\n\r\n" in self._head or len(self._head) > 65536):
            self._answer.set_result(self._head)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(ConnectionError("the proxy closed the connection during CONNECT"))


def is_lasting(error: OSError) -> bool:
    """Whether trying again is pointless."""
    return isinstance(error, (ssl.SSLError, socket.gaierror, TunnelRefused))


def why(error: OSError) -> str:
    """What a user should read of a failure to connect."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"it does not speak TLS as expected ({error.reason or error})"
    if isinstance(error, socket.gaierror):
        return "the name is not known"
    number = error.errno or next(map(int, re.findall(r"Errno (\d+)", str(error))), None)
    return os.strerror(number).lower() if number else str(error)
