"""The simulated engine under many sessions at once: connections it holds, its memory, and how fast it takes prompts.

    python benchmarks/simulated_sessions.py [--sessions 1000] [--tokens 100000]

Each session uploads a prompt of that many tokens (4 characters each) on a connection of its own; replies are slow, so
that all are open at the same time. The client sends every body from one buffer.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from pathlib import Path

from replayer.simulated import SimulatedSpec, launch


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1024


async def session(port: int, number: int, text: bytes, started: asyncio.Event, seen: list[float]) -> int:
    head = b'{"stream":true,"max_tokens":40,"messages":[{"role":"user","content":"session %06d ' % number
    tail = b'"}]}'
    size = len(head) + len(text) + len(tail)
    await started.wait()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size + head)
    writer.write(text)
    writer.write(tail)
    await writer.drain()
    sent = time.perf_counter()
    received = b""
    while b"[DONE]" not in received[-200:]:
        data = await reader.read(65536)
        if not data:
            raise SystemExit(f"session {number} was cut")
        if b"content" in data and not seen[number]:
            seen[number] = time.perf_counter() - sent
        received = received[-200:] + data
    writer.close()
    return 1


async def watch(pid: int, peak: list[float]) -> None:
    while True:
        peak[0] = max(peak[0], rss_mb(pid))
        await asyncio.sleep(0.1)


async def main(sessions: int, tokens: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    server = await launch(SimulatedSpec(tok_s=4.0, ttft_ms=100))
    port = int(server.base_url.rpartition(":")[2].split("/")[0])
    before, peak = rss_mb(server.pid), [0.0]
    watcher = asyncio.ensure_future(watch(server.pid, peak))
    text = (b"the parser reads a token and returns " * (tokens * 4 // 37 + 1))[: tokens * 4]
    started, seen = asyncio.Event(), [0.0] * sessions
    tasks = [asyncio.ensure_future(session(port, at, text, started, seen)) for at in range(sessions)]
    begin = time.perf_counter()
    started.set()
    done = sum(await asyncio.gather(*tasks))
    took = time.perf_counter() - begin
    watcher.cancel()
    first = sorted(seen)
    print(
        f"sessions        {done} of {sessions}, {tokens:,} tokens each ({sessions * tokens * 4 / 1e6:,.0f} MB of text)"
    )
    print(f"took            {took:.1f} s")
    print(f"first token     p50 {first[len(first) // 2]:.2f} s, max {first[-1]:.2f} s after its upload")
    print(f"server memory   {before:.0f} MB before, {peak[0]:.0f} MB at its peak (anonymous)")
    await server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=100_000)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.sessions, arguments.tokens))
