"""What the recording proxy adds to a request: median and p99 of the time to the first byte, direct and through it.

    PYTHONPATH=. python benchmarks/record.py [--requests 400] [--tokens 20000]

The upstream is a bare server in its own process; the proxy runs in a process of its own. Goal: under 1 ms at the median.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import orjson

from replayer.traces.recorder import serve
from replayer.traces.recording import Recording
from replayer.traces.upstream import upstream
from replayer.wire.loop import run_receiving

CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
EVENTS = CHUNK * 64 + b"data: [DONE]\n\n"
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(EVENTS)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            writer.write(REPLY + EVENTS)
    except asyncio.IncompleteReadError:
        writer.close()


def _upstream(pipe: Connection) -> None:
    async def run() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=1 << 24)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(run())


def _proxy(pipe: Connection, port: int, folder: str) -> None:
    async def run() -> None:
        recording = Recording(Path(folder))
        proxy = await serve(upstream(f"http://127.0.0.1:{port}"), recording.add, "127.0.0.1", 0)
        pipe.send(proxy.port)
        await asyncio.Event().wait()

    run_receiving(run())


def _times(ports: dict[str, int], requests: int, text: str) -> dict[str, list[float]]:
    """Seconds to the first byte of each, in turns: what else the machine does meets them alike."""
    connections = {name: http.client.HTTPConnection("127.0.0.1", port) for name, port in ports.items()}
    taken: dict[str, list[float]] = {name: [] for name in ports}
    for number in range(requests):
        messages = [{"role": "user", "content": text}, {"role": "assistant", "content": str(number)}]
        body = orjson.dumps(
            {"model": "m", "messages": [*messages, {"role": "user", "content": "go"}], "stream": True}
        )
        for name, connection in connections.items():
            begin = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read(1)
            taken[name].append(time.perf_counter() - begin)
            response.read()
            time.sleep(0.002)
    for connection in connections.values():
        connection.close()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=20_000)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        server = context.Process(target=_upstream, args=(there,), daemon=True)
        server.start()
        direct = here.recv()
        proxy = context.Process(target=_proxy, args=(there, direct, folder), daemon=True)
        proxy.start()
        through = here.recv()
        text = "word " * given.tokens
        ports = {"direct": direct, "through record": through}
        _times(ports, 20, text)
        figures = {name: sorted(taken) for name, taken in _times(ports, given.requests, text).items()}
        for name, taken in figures.items():
            median, p99 = statistics.median(taken), taken[int(len(taken) * 0.99)]
            print(f"{name:<16} median {median * 1e3:.3f} ms   p99 {p99 * 1e3:.3f} ms")
        added, quiet = (
            figures["through record"][place] - figures["direct"][place]
            for place in (given.requests // 2, given.requests // 10)
        )
        print(
            f"added at the median: {added * 1e3:.3f} ms, at the 10th percentile {quiet * 1e3:.3f} ms "
            f"(prompt of {len(text) / 1e6:.1f} MB)"
        )
        proxy.terminate()
        server.terminate()


if __name__ == "__main__":
    main()
