"""HTTP as it really comes: ahead of its turn, in pieces, packed, upgraded, cut off by either side."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import brotli
import httpx
import pytest
import zstandard

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.traces.passing import Passed
from replayer.traces.reader import Trace
from replayer.traces.recorder import Waits, serve
from replayer.traces.recording import Recording
from replayer.traces.upstream import upstream
from replayer.wire.reply import assemble
from tests.traces.proxies import asking, proxy, said, scripted, whole


async def _echo(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answers with the last words of the request; of HEAD only the head."""
    answer = whole(said(request[-24:].decode("utf-8", "replace")))
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n" if request.startswith(b"HEAD") else answer)
    return True


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = httpx.URL(url)
    return await asyncio.open_connection(parts.host, parts.port)


async def _exchange(url: str, *pieces: bytes) -> bytes:
    """All that comes back on one connection until it ends; our side closes after the last answer."""
    reader, writer = await _connect(url)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    try:
        return await reader.read()
    finally:
        writer.close()


def _turns(recording: Recording) -> int:
    count = 0
    for path in recording.paths:
        with Trace.open(path) as trace:
            count += len(trace.turns)
    return count


async def test_requests_sent_ahead_each_get_their_answer_and_their_turn(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    text = b'{"model":"m","messages":[{"role":"user","content":"in bits"}]}'
    chunks = b"5;x=1\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (text[:5], len(text) - 5, text[5:])
    async with scripted(_chunked_too) as server, proxy(server.url, recording) as url:
        ahead = (
            asking("one")
            + asking("two", "/chat/completions")
            + b"HEAD /v1/models HTTP/1.1\r\nHost: here\r\n\r\n\r\n"
            + asking("three", "/v1/chat/completions?api-version=1", b"Expect: 100-continue\r\n")
            + b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunks
            + asking("last", head=b"Connection: close\r\n")
        )
        got = await _exchange(url, *(ahead[n : n + 100] for n in range(0, len(ahead), 100)))
        assert got.count(b"HTTP/1.1 200 OK") == 6 and got.count(b'"stop"') == 5
    lines = [request.split(b"\r\n")[0] for request in server.requests]
    assert lines[1] == b"POST /v1/chat/completions HTTP/1.1"
    assert lines[3] == b"POST /v1/chat/completions?api-version=1 HTTP/1.1"
    assert _turns(recording) == 5
    with Trace.open(recording.paths[3]) as trace:
        assert trace.item(0).content == "in bits"  # type: ignore[union-attr]


async def _chunked_too(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    if b"chunked" in request.lower():
        await reader.readuntil(b"0\r\n\r\n")
    await _echo(request, reader, writer)
    return b"Connection: close" not in request


async def test_another_protocol_passes_both_ways(tmp_path: Path) -> None:
    async def answer(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if b"websocket" not in request:
            return await _echo(request, reader, writer)
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while data := await reader.read(100):
            writer.write(b"back:" + data)
        return False

    upgrade = b"GET /v1/realtime HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n"
    async with scripted(answer) as server, proxy(server.url, Recording(tmp_path)) as url:
        reader, writer = await _connect(url)
        # Java's client asks for HTTP/2 this way; servers that ignore it answer as ever.
        writer.write(upgrade % b"h2c")
        await reader.readuntil(b'"stop"}]}')
        writer.write(upgrade % b"websocket")
        await reader.readuntil(b"\r\n\r\n")
        for frame in (b"\x81\x02hi", b"\x81\x05again"):
            writer.write(frame)
            assert await reader.readexactly(len(frame) + 5) == b"back:" + frame
        writer.close()


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", b"begins with http://"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HTTP/2.0 is not spoken here"),
        (b"GET /" + b"a" * 200_000, b"too long"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n", b"has no size"),
        (b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n", b"is not a number"),
    ],
)
async def test_what_is_not_a_request_gets_one_clear_answer(
    tmp_path: Path, sent: bytes, answered: bytes
) -> None:
    async with scripted(_echo) as server, proxy(server.url, Recording(tmp_path)) as url:
        answer = await _exchange(url, sent)
    assert answered in answer and answer.startswith(b"HTTP/1.1 4")


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "gzip, br": lambda body: brotli.compress(gzip.compress(body)),
}


@pytest.mark.parametrize("encoding", PACKED)
async def test_packed_bodies_pass_as_they_are_and_are_recorded_as_text(encoding: str, tmp_path: Path) -> None:
    event = '{"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}]}'
    events = "".join(
        f"data: {event % said_now}\r\n\r\n" for said_now in (("zwölf 🙂 ", "null"), ("Boxer", '"stop"'))
    )
    body = PACKED[encoding](events.encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def answer(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        for byte in range(len(body)):
            writer.write((b"" if byte else head) + body[byte : byte + 1])
            await writer.drain()
        return False

    recording = Recording(tmp_path)
    packed = zstandard.compress(b'{"model":"m","messages":[{"role":"user","content":"packed"}]}')
    request = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Encoding: zstd\r\nContent-Length: %d\r\n\r\n%b"
    async with scripted(answer) as server, proxy(server.url, recording) as url:
        assert await _exchange(url, request % (len(packed), packed)) == head + body
        assert await _exchange(url, asking("raw", "/v1/completions")) == head + body
    with Trace.open(recording.paths[0]) as trace:
        assert [getattr(item, "text", "packed") for item in trace.items()] == ["packed", "zwölf 🙂 Boxer"]
        assert trace.turns[0].finish_reason == "stop"
    with Trace.open(recording.paths[1]) as trace:
        [item] = trace.items()
        assert item.kind == "opaque" and item.record["response"] == events
        assert item.record["arrivals"][-1][1] == len(events.encode())


async def _half(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Half a stream, then nothing until the client is gone."""
    event = b'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(event), event))
    await writer.drain()
    await reader.readexactly(1)
    return False


async def test_a_reply_that_was_asked_for_whole_is_no_missing_stream() -> None:
    """SDKs leave `stream` out of a request that is not streamed."""

    async def answer(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(whole(said("ok")))
        return True

    notes = {}
    for asked in (b"", b'"stream" : true, '):
        seen: list[Passed] = []
        request = asking("hi").replace(b'{"model"', b"{" + asked + b'"model"')
        body = request.partition(b"\r\n\r\n")[2]
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % len(body)
        async with scripted(answer) as server:
            proxied = await serve(upstream(server.url), seen.append, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", proxied.port)
            writer.write(head + body)
            await reader.readuntil(b'"ok"')
            writer.close()
            await proxied.close()
        assert seen[0].reply is not None
        notes[asked] = [note.code for note in seen[0].reply.notes]
    assert list(notes.values()) == [[], ["other_mode"]]


@pytest.mark.parametrize("leaves", ["client", "recorder"])
async def test_a_stream_that_is_left_is_cancelled_and_keeps_what_had_come(
    leaves: str, tmp_path: Path
) -> None:
    recording = Recording(tmp_path)
    async with scripted(_half) as server:
        proxied = await serve(upstream(server.url), recording.add, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", proxied.port)
        writer.write(asking("hi"))
        await reader.readuntil(b"half")
        if leaves == "client":
            writer.close()
            await server.gone.wait()
        await proxied.close()
        await server.gone.wait()
        writer.close()
    recording.close()
    with Trace.open(recording.paths[0]) as trace:
        items = list(trace.items())
        assert items[1].text == "half" and trace.turns[0].finish_reason == "error"  # type: ignore[union-attr]
        failure = items[2].record["failure"]  # type: ignore[union-attr]
        assert (
            failure["kind"] == "stream_broken" and leaves in failure["message"] and failure["status"] == 200
        )


@pytest.mark.parametrize(
    ("scheme", "begins", "closes", "words", "kind"),
    [
        ("http", b"", False, "504 did not begin to answer within 0.2 s", "timeout"),
        ("http", b"", True, "502 the server closed the connection before it answered", "stream_broken"),
        ("https", b"", False, "502 no connection within 0.2 s", "unreachable"),
        ("https", b"\x16\x03\x03\x00", True, "502 cannot be reached", "unreachable"),
        ("http", b"HTTP/1.1 2", False, "", "timeout"),
    ],
    ids=["silent", "closed", "no handshake", "half a handshake", "half a status line"],
)
async def test_a_server_that_does_not_answer_is_named_within_the_wait(
    scheme: str, begins: bytes, closes: bool, words: str, kind: str
) -> None:
    async def sick(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(begins)
        await (asyncio.sleep(0) if closes else reader.read())
        writer.close()

    server = await asyncio.start_server(sick, "127.0.0.1", 0)
    seen: list[Passed] = []
    to = upstream(f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    proxied = await serve(
        to, seen.append, "127.0.0.1", 0, waits=Waits(0.2, 30 if scheme == "https" else 0.2, 30)
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", proxied.port)
    writer.write(asking("hi"))
    answer = (await reader.read()).decode()
    writer.close()
    await proxied.close()
    server.close()
    status, _, reason = words.partition(" ")
    assert answer == begins.decode() if not words else f" {status} " in answer and reason in answer
    assert seen[0].reply is not None and seen[0].reply.fault is not None
    assert seen[0].reply.fault.kind == kind


async def test_a_large_request_gets_the_answer_that_the_server_is_not_there(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    async with proxy("http://127.0.0.1:9/v1", recording) as url, httpx.AsyncClient(timeout=60) as client:
        content = b'{"messages":"' + b"x" * 5_000_000 + b'"}'
        response = await client.post(f"{url}/chat/completions", content=content)
        assert response.status_code == 502 and "cannot be reached" in response.text


@pytest.mark.parametrize(
    ("base", "asked", "target"),
    [
        ("http://h", "/v1/models?a=/b", "/v1/models?a=/b"),
        ("http://h/v1", "/models", "/v1/models"),
        ("http://h/v1", "/v1?x=1", "/v1?x=1"),
        ("https://h/api/v1/", "/v1/chat/completions", "/api/v1/chat/completions"),
        ("https://h/api/v1", "/api/v1/models", "/api/v1/models"),
        ("https://h/openai", "/v1/models", "/openai/v1/models"),
        ("http://h/v1", "http://other/v1/models?q=http://x", "/v1/models?q=http://x"),
        ("http://h/v1", "*", "*"),
    ],
)
def test_paths_meet_the_prefix_of_the_upstream(base: str, asked: str, target: str) -> None:
    assert upstream(base).target(asked) == target


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://me:pass@h/v1", "a user, a password"),
        ("http://h/v1?api_key=x", "a query"),
        ("ftp://h", "a URL like"),
    ],
)
def test_an_upstream_that_cannot_be_meant_is_refused_without_its_password(url: str, says: str) -> None:
    with pytest.raises(TraceError, match=says) as caught:
        upstream(url)
    assert "pass@" not in str(caught.value)


async def test_recorders_of_one_folder_do_not_overwrite_each_other(tmp_path: Path) -> None:
    recordings = [Recording(tmp_path) for _ in range(3)]
    for recording in recordings:
        async with (
            scripted(_echo) as server,
            proxy(server.url, recording) as url,
            httpx.AsyncClient(timeout=60) as client,
        ):
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            await client.post(f"{url}/chat/completions", json=body)
    assert len(list(tmp_path.iterdir())) == 3 and sum(map(_turns, recordings)) == 3


async def test_odd_requests_are_kept_as_they_came(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    deep = b'{"messages":[{"role":"user","content":' + b"[" * 900 + b"]" * 900 + b"}]}"
    async with (
        scripted(_echo) as server,
        proxy(server.url, recording) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        for content in (deep, b"no json \xff", b'{"messages":7}'):
            assert (await client.post(f"{url}/chat/completions", content=content)).status_code == 200
    with Trace.open(next(path for path in recording.paths if "passed" in path.name)) as trace:
        records = [item.record for item in trace.items() if item.kind == "opaque"]
    assert [type(record["request"]).__name__ for record in records] == ["str", "str", "dict"]
    assert all(record["reply"]["role"] == "assistant" for record in records)
    assert records[0]["request"].encode() == deep


@pytest.mark.parametrize(
    "body",
    [
        rb'{"model":"m","messages":[{"role":"user","content":"a \u003cb\u003e \u0026 \u2028 \u00e9"}]}'.replace(
            rb"\u00e9", "é".encode()
        ),  # Go
        b'{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":1e-05}',  # httpx
        b'{"messages": [{"role": "user", "content": "\\u00e9 <b>"}], "model": "m", "top_p": 1e-05}',  # requests
        '{"model":"m","messages":[{"role":"user","content":"é <b> \u2028"}],"stream":false}'.encode(),  # JavaScript
    ],
)
def test_requests_of_other_languages_replay_byte_for_byte(body: bytes, tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    reply = assemble(said("ok"))
    recording.add(Passed(path="/v1/chat/completions", request=body, status=200, reply=reply, wall=1.0))
    assert list(recording.warnings()) == []
    recording.close()
    with Trace.open(recording.paths[0]) as trace:
        sent = RecordedHistory(trace).request(0, {}, stream=False)
        assert b"".join(sent.body) == body


async def _headers(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Headers without an end, until the proxy has enough."""
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not writer.is_closing():
        writer.write(b"y" * 65536)
        await writer.drain()
    return False


async def test_headers_without_an_end_are_cut_off_and_said(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    async with scripted(_headers) as server, proxy(server.url, recording) as url:
        assert len(await _exchange(url, asking("hi"))) < 2_000_000
    with Trace.open(recording.paths[0]) as trace:
        (failure,) = (item.record["failure"] for item in trace.items() if item.kind == "opaque")
    assert failure["kind"] == "too_large" and "more than 256 KiB" in failure["message"]


def test_of_many_conversations_the_longest_silent_are_over(tmp_path: Path) -> None:
    """A recorder that runs for days keeps what may go on, not all that ever was."""
    recording = Recording(tmp_path)

    def talk(number: int, *more: dict[str, str]) -> None:
        messages = [{"role": "user", "content": f"Task {number}"}, *more]
        body = json.dumps({"model": "m", "messages": messages}).encode()
        passed = Passed(
            path="/v1/chat/completions", request=body, status=200, reply=assemble(said("ok")), wall=1.0
        )
        recording.add(passed)

    for number in range(300):
        talk(number)
    assert len(recording.paths) == 300
    further = ({"role": "assistant", "content": "ok"}, {"role": "user", "content": "Go on"})
    talk(299, *further)  # goes on
    talk(0, *further)  # is over: what follows is another conversation
    assert len(recording.paths) == 301
    assert b'"end"' in recording.paths[0].read_bytes() and b'"end"' not in recording.paths[299].read_bytes()
    recording.close()
    with Trace.open(recording.paths[299]) as trace:
        assert len(trace.turns) == 2
