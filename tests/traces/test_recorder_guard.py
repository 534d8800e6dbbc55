"""A web page must not use the engine behind the recorder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from replayer.traces.recording import Recording
from tests.traces.proxies import asking, proxy, said, scripted, whole


async def _answer(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    writer.write(whole(said("Hello.")))
    return True


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Sec-Fetch-Site: cross-site\r\n", 403),
        (b"Sec-Fetch-Site: none\r\n", 200),
        (b"Sec-Fetch-Site: cross-site\r\nOrigin: http://localhost:3000\r\n", 200),
        (b"Host: evil.example\r\n", 400),
        (b"Origin: http://localhost\r\nOrigin: https://evil.example\r\n", 400),
    ],
)
async def test_what_a_page_can_load_without_saying_whose_it_is(
    tmp_path: Path, head: bytes, status: int
) -> None:
    async with scripted(_answer) as server, proxy(server.url, Recording(tmp_path)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port)
        writer.write(
            b"GET /flush_cache HTTP/1.1\r\nHost: localhost\r\n" + head + b"Connection: close\r\n\r\n"
        )
        answer = await asyncio.wait_for(reader.read(2000), 10)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert len(server.requests) == (status == 200)


@pytest.mark.parametrize(
    ("host", "origin", "passes"),
    [
        ("127.0.0.1:{port}", None, True),
        ("localhost:{port}", None, True),
        ("[::1]:{port}", None, True),
        ("192.168.1.5:{port}", None, True),
        ("recorder:{port}", None, True),
        ("evil.example", None, False),
        ("evil.example:{port}", "http://evil.example:{port}", False),
        ("127.0.0.1.evil.example", None, False),
        ("127.0.0.1:{port}", "https://evil.example", False),
        ("127.0.0.1:{port}", "http://localhost.evil.example", False),
        ("127.0.0.1:{port}", "null", False),
        ("127.0.0.1:{port}", "http://192.168.1.5", False),
        ("127.0.0.1:{port}", "http://[", False),
        ("127.0.0.1:{port}", "http://localhost:3000", True),
        ("127.0.0.1:{port}", "vscode-file://vscode-app", True),
    ],
)
async def test_only_who_knows_the_address_is_served(
    tmp_path: Path, host: str, origin: str | None, passes: bool
) -> None:
    async with scripted(_answer) as server, proxy(server.url, Recording(tmp_path)) as url:
        port = httpx.URL(url).port
        head = b"Connection: close\r\n"
        if origin is not None:
            head += f"Origin: {origin.format(port=port)}\r\n".encode()
        request = asking("hi", head=head).replace(b"Host: here", f"Host: {host.format(port=port)}".encode())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(2000), 10)
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200" if passes else b"HTTP/1.1 403")
    assert len(server.requests) == passes
