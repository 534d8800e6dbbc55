"""A server that stalls, drips, floods, bombs and lies: a process of its own on plain sockets, nothing of replayer's.

`python -m tests.hostile.server [CERT KEY]…` prints its ports: the first speaks HTTP, one more speaks TLS for each
certificate, and the last one accepts and says nothing that TLS knows. The first part of a path names the mode:
`/MODE/v1/chat/completions`. Every mode lists its models properly, unless its name begins with `models_`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import json
import socket
import ssl
import struct
import sys
import time
import zlib
from collections.abc import Awaitable, Callable

import brotli
import zstandard

from tests.hostile.odd import ODD

Writer = asyncio.StreamWriter
Mode = Callable[[Writer], Awaitable[None]]
MODES: dict[str, Mode] = {}
PAUSE = 0.02
DONE = b"data: [DONE]\n\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
MODELS = b'{"object":"list","data":[{"id":"m","owned_by":"sick"}]}'


def mode(function: Mode) -> Mode:
    MODES[function.__name__] = function
    return function


def event(**chunk: object) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def delta(**fields: object) -> bytes:
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": None}])


def finish(reason: str = "stop") -> bytes:
    return event(choices=[{"index": 0, "delta": {}, "finish_reason": reason}])


def usage() -> bytes:
    return event(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 2})


ROLE, TOKEN = delta(role="assistant", content=""), delta(content="word ")
REPLY = [ROLE, TOKEN, delta(content="again"), finish(), usage(), DONE]


def chunk(data: bytes, extension: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (len(data), extension, data)


def whole(body: bytes, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n") -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def send(w: Writer, *pieces: bytes) -> None:
    for piece in pieces:
        w.write(piece)
        await w.drain()


async def stall(w: Writer, *pieces: bytes) -> None:
    await send(w, *pieces)
    await asyncio.sleep(3600)


async def forever(w: Writer, piece: bytes, pause: float = 0.0) -> None:
    for number in itertools.count():
        w.write(piece.replace(b"NUMBER", b"%d" % number))
        await w.drain()
        await asyncio.sleep(pause)


async def stream(w: Writer, *pieces: bytes, headers: bytes = b"") -> None:
    await send(w, OPEN + headers + b"\r\n", *pieces)


def register(name: str, body: Callable[[Writer], Awaitable[None]]) -> None:
    MODES[name] = body


# sound


@mode
async def healthy(w: Writer) -> None:
    await send(w, CHUNKED + b"\r\n", chunk(ROLE))
    for piece in REPLY[1:]:
        await asyncio.sleep(PAUSE)
        stamped = piece.replace(
            b'{"choices"', b'{"system_fingerprint": "%d", "choices"' % time.monotonic_ns()
        )
        await send(w, chunk(stamped if piece is TOKEN else piece))
    await send(w, b"0\r\n\r\n")


# stalls: the bytes before which nothing more comes

STALLS = {
    "silent": [],
    "stall_in_status": [b"HTTP/1."],
    "stall_in_headers": [b"HTTP/1.1 200 OK\r\nContent-Ty"],
    "stall_after_headers": [CHUNKED + b"\r\n"],
    "stall_after_role": [CHUNKED + b"\r\n", chunk(ROLE)],
    "stall_after_token": [CHUNKED + b"\r\n", chunk(ROLE), chunk(TOKEN)],
    "stall_in_event": [CHUNKED + b"\r\n", chunk(ROLE), chunk(TOKEN[:20])],
    "stall_in_chunk": [CHUNKED + b"\r\n", chunk(TOKEN), b"fff\r\ndata: "],
    "stall_after_finish": [CHUNKED + b"\r\n", *map(chunk, REPLY[:4])],
    "stall_after_done": [CHUNKED + b"\r\n", *map(chunk, REPLY)],
    "stall_in_body": [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b'{"choices":'],
    "stall_in_error": [b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n", b'{"error":'],
}
# drips and floods: what comes first, and what then comes for ever
ENDLESS = {
    "status_bytes": (b"HTTP/1.1 200 ", b"O"),
    "one_header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"y" * 20),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-NUMBER: y\r\n"),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
    "comments": (OPEN + b"\r\n", b": keep-alive\n\n"),
    "comments_after_token": (OPEN + b"\r\n" + ROLE + TOKEN, b": keep-alive\n\n"),
    "comments_after_done": (OPEN + b"\r\n" + b"".join(REPLY), b": keep-alive\n\n"),
    "blank_lines": (OPEN + b"\r\n" + TOKEN, b"\n\n\n\n"),
    "pings": (OPEN + b"\r\n", b'event: ping\ndata: {"type":"ping"}\n\n'),
    "roles": (OPEN + b"\r\n", ROLE),
    "usages": (OPEN + b"\r\n" + TOKEN, usage()),
    "trailers": (CHUNKED + b"\r\n" + chunk(ROLE + TOKEN) + b"0\r\n", b"X-NUMBER: y\r\n"),
    "one_trailer": (CHUNKED + b"\r\n" + chunk(ROLE + TOKEN) + b"0\r\nX: ", b"y" * 20),
    "extension": (CHUNKED + b"\r\n" + chunk(ROLE + TOKEN) + b"5;", b"x=y;"),
    "extensions": (CHUNKED + b"\r\n" + chunk(TOKEN), b"1;" + b"x" * 200 + b"\r\n:\r\n"),
    "one_event": (OPEN + b"\r\n", b"data: x"),
    "one_line": (OPEN + b"\r\n" + TOKEN + b"data: ", b"x" * 20),
    "json": (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{", b" " * 20),
    "error": (b"HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n", b"sorry " * 4),
    "tokens": (OPEN + b"\r\n" + ROLE, TOKEN),
    "texts": (OPEN + b"\r\n" + ROLE, delta(content="long " * 40)),
    "thoughts": (OPEN + b"\r\n" + ROLE, delta(reasoning_content="hm " * 40)),
    "calls": (
        OPEN + b"\r\n" + ROLE,
        event(
            choices=[
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [{"id": "cNUMBER", "function": {"name": "f", "arguments": "{}"}}]
                    },
                }
            ]
        ),
    ),
    "arguments": (
        OPEN + b"\r\n" + ROLE,
        event(
            choices=[
                {
                    "index": 0,
                    "delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "[1]"}}]},
                }
            ]
        ),
    ),
    "keys": (OPEN + b"\r\n" + TOKEN, event(kNUMBER=["x" * 50], choices=[])),
    "token_ids": (
        OPEN + b"\r\n" + TOKEN,
        event(choices=[{"index": 0, "delta": {}, "token_ids": list(range(50))}]),
    ),
    "after_done": (OPEN + b"\r\n" + b"".join(REPLY), TOKEN),
    "binary": (OPEN + b"\r\n", bytes(range(256))),
    "nothing_known": (OPEN + b"\r\n", event(type="x", a={"b": [{}] * 9})),
}


def _endless(name: str, first: bytes, then: bytes) -> None:
    async def drip(w: Writer) -> None:
        await send(w, first)
        await forever(w, then, PAUSE)

    async def flood(w: Writer) -> None:
        times = 1 if b"NUMBER" in then else max(1, 16384 // len(then))
        await send(w, first)
        await forever(w, then * times)

    register(f"drip_{name}", drip)
    register(f"flood_{name}", flood)


async def _odd(w: Writer, first: bytes, then: bytes | None) -> None:
    await send(w, first)
    if then is None:
        await asyncio.sleep(3600)
    elif then:
        await forever(w, then, PAUSE)


for _name, (_first, _rest) in ODD.items():
    register(_name, lambda w, first=_first, rest=_rest: _odd(w, first, rest))
for _name, _pieces in STALLS.items():
    register(_name, lambda w, pieces=_pieces: stall(w, *pieces))
for _name, (_first, _then) in ENDLESS.items():
    _endless(_name, _first, _then)


# bombs

_ZEROS = b": " + b"\0" * (1 << 26) + b"\n\n"


def _bomb(name: str, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    packed: list[bytes] = []

    async def bomb(w: Writer) -> None:
        if not packed:
            packed.append(await asyncio.to_thread(pack, _ZEROS))
        await send(w, whole(packed[0], OPEN + b"Content-Encoding: " + encoding.encode() + b"\r\n"))

    register(f"bomb_{name}", bomb)


_bomb("gzip", "gzip", lambda data: gzip.compress(data, 1))
_bomb("deflate", "deflate", lambda data: zlib.compress(data, 1))
_bomb("gzip_twice", "gzip, gzip", lambda data: gzip.compress(gzip.compress(data, 1)))
_bomb("gzip_often", ", ".join(["gzip"] * 9), lambda data: gzip.compress(data[:999]))
_bomb("gzip_members", "gzip, gzip", lambda data: gzip.compress(gzip.compress(b"") * 500_000))
_bomb("zstd", "zstd", zstandard.ZstdCompressor().compress)
_bomb(
    "zstd_window",
    "zstd",
    zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    ).compress,
)
_bomb("brotli", "br", lambda data: brotli.compress(data, quality=1))

# lies


def _lie(name: str, *pieces: bytes) -> None:
    register(name, lambda w: send(w, *pieces))


_body = b"".join(REPLY)
_lie("close_at_once")
_lie("close_in_headers", b"HTTP/1.1 200 OK\r\nContent-")
_lie("close_after_token", CHUNKED + b"\r\n", chunk(ROLE + TOKEN))
_lie("close_without_done", CHUNKED + b"\r\n", chunk(ROLE + TOKEN), b"0\r\n\r\n")
_lie("length_too_long", OPEN + b"Content-Length: 99999\r\n\r\n" + _body[:-20])
_lie("length_too_short", OPEN + b"Content-Length: 100\r\n\r\n" + _body)
_lie("length_negative", OPEN + b"Content-Length: -5\r\n\r\n" + _body)
_lie("length_huge", OPEN + b"Content-Length: 99999999999999999999999\r\n\r\n" + _body)
_lie("length_and_chunks", CHUNKED + b"Content-Length: 7\r\n\r\n" + chunk(_body) + b"0\r\n\r\n")
_lie("chunk_size_no_number", CHUNKED + b"\r\nxyz\r\n" + _body)
_lie("chunk_size_huge", CHUNKED + b"\r\n" + b"f" * 30 + b"\r\n" + _body)
_lie("gzip_cut", whole(gzip.compress(_body)[:40], OPEN + b"Content-Encoding: gzip\r\n"))
_lie("gzip_is_none", whole(_body, OPEN + b"Content-Encoding: gzip\r\n"))
_lie("encoding_unknown", whole(_body, OPEN + b"Content-Encoding: lzma\r\n"))
_lie("redirect", whole(b"", b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/v1/chat/completions\r\n"))
_lie(
    "redirect_to_itself",
    whole(b"", b"HTTP/1.1 302 Go\r\nLocation: /redirect_to_itself/v1/chat/completions\r\n"),
)
_lie("no_content", b"HTTP/1.1 204 No\r\n\r\n")
_lie("upgrade", b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxxxx")
_lie("error_as_success", whole(b'{"error":{"message":"no","code":500}}'))
_lie("error_in_stream", OPEN + b"\r\n", ROLE, b'data: {"error":{"message":"died","code":500}}\n\n')
_lie(
    "wrong_types",
    OPEN + b"\r\n",
    event(choices={"a": 1}),
    event(choices=[[]]),
    event(choices=[{"delta": 5}]),
    DONE,
)
_lie("status_429", whole(b'{"error":"busy"}', b"HTTP/1.1 429 Busy\r\nRetry-After: 0\r\n"))
_lie("status_503", whole(b'{"error":"busy"}', b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\n"))
_lie("status_999", whole(b"x", b"HTTP/1.1 999 What\r\n"))
_lie("two_replies", whole(_body, OPEN) + whole(_body, OPEN))


@mode
async def reset_at_once(w: Writer) -> None:
    reset(w)


@mode
async def reset_in_answer(w: Writer) -> None:
    await send(w, CHUNKED + b"\r\n", chunk(ROLE + TOKEN))
    await asyncio.sleep(PAUSE)
    reset(w)


_SOUND = CHUNKED + b"\r\n" + chunk(_body) + b"0\r\n\r\n"
_cuts = itertools.cycle(range(len(_SOUND)))


@mode
async def reset_anywhere(w: Writer) -> None:
    """Each request is cut one byte later than the one before it."""
    await send(w, _SOUND[: next(_cuts)])
    await asyncio.sleep(0.001)
    reset(w)


def reset(w: Writer) -> None:
    sock: socket.socket = w.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    w.transport.abort()


# what a server answers to other questions: its models, its metrics, its tokenizer


async def _models_stall(w: Writer) -> None:
    await asyncio.sleep(3600)


register("models_silent", _models_stall)
register("models_drip", lambda w: MODES["drip_json"](w))
register("models_flood", lambda w: MODES["flood_json"](w))
register("models_flood_headers", lambda w: MODES["flood_headers"](w))
register("models_interim", lambda w: MODES["drip_interim"](w))
register("models_bomb", lambda w: MODES["bomb_gzip_twice"](w))
register("models_redirect", lambda w: MODES["redirect"](w))
register("models_no_http", lambda w: MODES["no_http"](w))
register("models_503", lambda w: MODES["status_503"](w))


async def other_page(w: Writer, name: str, page: str) -> None:
    """Everything but chat and models: the same sickness where the mode is one of pages."""
    if name == "pages_flood":
        await send(w, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        await forever(w, b'vllm:x{a="b"} 1\n' * 1000)
    if name == "pages_drip":
        await MODES["drip_json"](w)
    if name == "pages_silent":
        await asyncio.sleep(3600)
    if name == "pages_bomb":
        await MODES["bomb_gzip"](w)
    await send(w, whole(b"", b"HTTP/1.1 404 No\r\n"))


for _name in ("pages_flood", "pages_drip", "pages_silent", "pages_bomb"):
    register(_name, healthy)


async def connected(reader: asyncio.StreamReader, w: Writer) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ssl.SSLError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            _, name, _, *page = head.split(" ")[1].split("/")
            length = next(
                (line for line in head.lower().split("\r\n") if line.startswith("content-length:")), ":0"
            )
            await reader.readexactly(int(length.partition(":")[2]))
            if page[-1:] == ["completions"] or (page == ["models"] and name.startswith("models_")):
                await MODES[name](w)
            elif page == ["models"]:
                await send(w, whole(MODELS))
                continue
            else:
                await other_page(w, name, "/".join(page))
            if name not in ("healthy",) and not name.startswith("status_"):
                break
    w.close()


async def mute(reader: asyncio.StreamReader, w: Writer) -> None:
    """A TLS handshake that never comes to its end."""
    with contextlib.suppress(OSError):
        await reader.read(1)
        await forever(w, b"\x16", PAUSE)


async def main(pairs: list[str]) -> None:
    servers = [await asyncio.start_server(connected, "127.0.0.1", 0)]
    for certificate, key in zip(pairs[::2], pairs[1::2], strict=True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        servers.append(await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context))
    servers.append(await asyncio.start_server(mute, "127.0.0.1", 0))
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
