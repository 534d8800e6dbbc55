"""A thousand requests over kept-alive clients through the recorder, against servers that close as they like.

Each request carries its own number, credentials in three places, and one wire of three. The server counts what reaches
it, the recordings are read again, and no byte of them may hold a credential.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from replayer.traces.credentials import HIDDEN
from replayer.traces.reader import Trace
from replayer.traces.recording import Recording
from replayer.wire.types import JsonObject
from tests.tools import exchanges
from tests.traces.proxies import Answer, proxy, scripted

REQUESTS = 1000
CLIENTS = 8
PATHS = {"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}
SECRET = "hunter2-correct-horse-" + "battery9" * 2
Ask = Callable[[httpx.AsyncClient, str, int], Awaitable[None]]

pytestmark = pytest.mark.slow


def wire(number: int) -> str:
    return list(PATHS)[number % 3]


def body(number: int) -> JsonObject:
    """A request that no other continues."""
    asked = f"task <{number:04d}> {SECRET}"
    if wire(number) == "responses":
        return {"model": "m", "input": asked, "stream": True, "store": False}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": asked}], "stream": True}


def number_in(request: bytes) -> int:
    return int(request.partition(b"<")[2][:4])


def events(number: int) -> bytes:
    """A whole stream; it repeats the credential as a careless server does."""
    reply = {"content": f"done {number:04d} with {SECRET}", "finish_reason": "stop", "completion_tokens": 9}
    if wire(number) == "chat":
        return exchanges.streamed(reply)
    write = exchanges.messages_events if wire(number) == "messages" else exchanges.responses_events
    return exchanges.events(write(reply))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _after(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """A whole answer, then the end of the connection, which nothing announced."""
    writer.write(HEAD + chunk(events(number_in(request))) + b"0\r\n\r\n")
    return False


async def _idle(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Closes 2 ms after an answer, which is about when the next request comes."""
    await _after(request, reader, writer)
    asyncio.get_running_loop().call_later(0.002, writer.close)
    return True


CUTS: list[Callable[[int], int]] = [
    lambda length: 20,
    lambda length: len(HEAD),
    lambda length: len(HEAD) + (length - len(HEAD)) // 2,
    lambda length: length,
]
"""Where an answer of so many bytes ends: in its head, behind it, in its text, before the last chunk. The last one holds
its stream's own last event, so nothing of the reply is missing."""


def is_cut(number: int) -> bool:
    """Every third answer of each wire."""
    return number // 3 % 3 == 0


async def _middle(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    number = number_in(request)
    answered = HEAD + chunk(events(number))
    if not is_cut(number):
        writer.write(answered + b"0\r\n\r\n")
        return True
    writer.write(answered[: CUTS[number // 9 % len(CUTS)](len(answered))])
    return False


def counting(answer: Answer, answered: Counter[int]) -> Answer:
    async def counted(request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if writer.is_closing():  # it closed while this request was on its way
            return False
        answered[number_in(request)] += 1
        return await answer(request, reader, writer)

    return counted


async def _ask_all(url: str, ask: Ask) -> None:
    async def one(name: int) -> None:
        async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=1)) as client:
            for number in range(name, REQUESTS, CLIENTS):
                await ask(client, url, number)

    await asyncio.gather(*map(one, range(CLIENTS)))


async def _whole(client: httpx.AsyncClient, url: str, number: int) -> None:
    headers = {"authorization": f"Bearer {SECRET}", "x-api-key": SECRET}
    asked = client.post(f"{url}{PATHS[wire(number)]}?key={SECRET}", json=body(number), headers=headers)
    answer = await asked
    assert answer.status_code == 200 and answer.content == events(number)


async def _paused(client: httpx.AsyncClient, url: str, number: int) -> None:
    await asyncio.sleep(number % 7 / 2000)  # 0 to 3 ms: before, at and after the server's closing
    await _whole(client, url, number)


async def _perhaps_cut(client: httpx.AsyncClient, url: str, number: int) -> None:
    if not is_cut(number):
        await _whole(client, url, number)
        return
    with pytest.raises(httpx.RemoteProtocolError):
        await _whole(client, url, number)


def recorded(recording: Recording) -> dict[int, tuple[str | None, str, bool]]:
    """Of each turn's number: how it ended, its text, and whether a failure stands beside it."""
    found: dict[int, tuple[str | None, str, bool]] = {}
    for path in recording.paths:
        assert "passed" not in path.name and SECRET[:8].encode() not in path.read_bytes()
        with Trace.open(path) as trace:
            items = {item.id: item for item in trace.items()}
            failed = {item.record["turn"] for item in items.values() if item.kind == "opaque"}
            for turn in trace.turns:
                asked = next(i for n in trace.context(turn.id) if (i := items[n]).kind == "user")
                number = number_in(str(asked.content).encode())
                text = "".join(items[n].text for n in turn.produced if items[n].kind == "assistant")  # type: ignore[union-attr]
                assert number not in found
                found[number] = turn.finish_reason, text, turn.id in failed
    return found


STOPS = {"chat": "stop", "messages": "end_turn", "responses": "completed"}
ONCE = Counter(range(REQUESTS))


def said(number: int) -> str:
    return f"done {number:04d} with {HIDDEN}"


@pytest.mark.parametrize(("answer", "ask"), [(_after, _whole), (_idle, _paused)], ids=["answered", "idle"])
async def test_no_request_is_lost_where_a_server_closes_between_answers(
    answer: Answer, ask: Ask, tmp_path: Path
) -> None:
    recording, answered = Recording(tmp_path), Counter[int]()
    async with (
        scripted(counting(answer, answered)) as server,
        proxy(server.url, recording, idle_seconds=30) as url,
    ):
        await _ask_all(url, ask)
    assert answered == ONCE
    assert recorded(recording) == {n: (STOPS[wire(n)], said(n), False) for n in range(REQUESTS)}


async def test_a_server_that_closes_in_the_middle_of_an_answer_is_asked_once(tmp_path: Path) -> None:
    """What had begun to answer is not sent again: the client may have acted on it."""
    recording, answered = Recording(tmp_path), Counter[int]()
    async with scripted(counting(_middle, answered)) as server, proxy(server.url, recording) as url:
        await _ask_all(url, _perhaps_cut)
    assert answered == ONCE
    turns = recorded(recording)
    assert set(turns) == set(range(REQUESTS))
    for number, (reason, text, failed) in turns.items():
        if is_cut(number) and number // 9 % len(CUTS) < 3:
            assert reason == "error" and failed
            assert said(number).startswith(text.removesuffix(HIDDEN))
        else:
            assert (reason, text, failed) == (STOPS[wire(number)], said(number), False)
