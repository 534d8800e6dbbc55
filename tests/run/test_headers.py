"""Headers of a lane reach its server; secrets among them stay out of the run folder."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from replayer.cli import main

SECRET = "s3cret-of-the-gateway"


class Server:
    """Answers every request as a small chat server would, and keeps the heads that it got."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.bodies: list[str] = []
        self.repeats_keys = False
        self.says = "Done."
        self.port = 0
        self._ready, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> Server:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(10)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await asyncio.to_thread(self._end.wait)
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        length = next(
            (int(x.split(":")[1]) for x in head.lower().split("\r\n") if x.startswith("content-length")), 0
        )
        self.bodies.append((await reader.readexactly(length)).decode())
        if head.startswith("GET") and "/models" in head:
            status, kind, body = "200 OK", "application/json", b'{"object":"list","data":[{"id":"m"}]}'
        elif head.startswith("POST") and self.repeats_keys:
            status, kind = "403 Forbidden", "application/json"
            body = f'{{"error":{{"message":"refused: {head.partition("Bearer ")[2][:40]!r}"}}}}'.encode()
        elif head.startswith("POST"):
            status, kind = "200 OK", "text/event-stream"
            body = (
                b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":%s}}]}\n\n'
                b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],'
                b'"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\ndata: [DONE]\n\n'
            ) % json.dumps(self.says).encode()
        else:
            status, kind, body = "404 Not Found", "application/json", b"{}"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as found:
        yield found


def test_headers_arrive_and_secrets_stay_out_of_every_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", SECRET)
    spec = (
        f"a=http://127.0.0.1:{server.port}/v1,model=m,header.X-Gateway-Token=env:GATEWAY_TOKEN,"
        "header.X-Session-ID={session},header.X-Team=blue"
    )
    words = [
        "run",
        "--plain",
        "--trace",
        "first-look",
        "--engine",
        spec,
        "--repeat",
        "2",
        "--max-lag",
        "60000",
    ]
    main([*words, "--out", str(tmp_path / "run")])
    posts = [head for head in server.heads if head.startswith("POST") and "X-Session-ID" in head]
    for repeat in range(2):
        mine = [head for head in posts if f"X-Session-ID: a/first-look/{repeat}\r\n" in head]
        assert len(mine) == 5, "every turn of the session names it"
        assert all(f"X-Gateway-Token: {SECRET}\r\n" in head and "X-Team: blue\r\n" in head for head in mine)
    gets = [head.lower() for head in server.heads if head.startswith("GET")]
    assert gets and all(f"x-gateway-token: {SECRET}" in head and "x-session-id" not in head for head in gets)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert files and not any(SECRET.encode() in path.read_bytes() for path in files)
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("header.Authorization=Bearer abc", "give it as env:VARIABLE"),
        ("header.X-Api-Key=abc", "give it as env:VARIABLE"),
        ("header.Content-Length=5", "cannot be set"),
        ("header.X-Team=env:NOT_SET_ANYWHERE", "is not set"),
        ('header.X-Team="a\\r\\nHost: b"', "printable ASCII"),
    ],
)
def test_a_header_that_cannot_be_sent_is_named(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], header: str, words: str
) -> None:
    spec = f"a=http://127.0.0.1:{server.port}/v1,model=m,{header}"
    assert (
        main(["run", "--plain", "--trace", "first-look", "--engine", spec, "--out", str(tmp_path / "r")]) == 2
    )
    assert words in capsys.readouterr().err
