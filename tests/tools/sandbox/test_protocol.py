"""What a captured worker could send to the host: nothing of it is believed, nothing of it crashes."""

import asyncio
import contextlib
import json
import socket
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.tools.sandbox.link import Link
from replayer.tools.sandbox.types import FileError, SandboxLost


def frame(head, payload=b""):
    return struct.pack("!II", len(head), len(payload)) + head + payload


@pytest.fixture(params=[False, True], ids=["awaited", "quick"])
def quick(request):
    return request.param


async def answered(data, most=1000, quick=False):
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    link = Link(ours, most)
    loop = asyncio.get_running_loop()
    try:
        asked = asyncio.ensure_future(link.request({"op": "ping"}, timeout=60, quick=quick))
        await loop.sock_recv(theirs, 1000)
        await loop.sock_sendall(theirs, data)
        theirs.close()
        return await asked
    finally:
        link.close()
        theirs.close()


async def test_an_answer_and_a_refusal(quick):
    assert await answered(frame(b'{"a": 1}', b"xyz"), quick=quick) == ({"a": 1}, b"xyz")
    with pytest.raises(FileError) as refused:
        await answered(frame(b'{"error": "not_found", "message": "m"}'), quick=quick)
    assert (refused.value.kind, str(refused.value)) == ("not_found", "m")


HOSTILE = {
    "nothing": b"",
    "a torn frame": frame(b'{"a": 1}')[:-1],
    "deep nesting": frame(b"[" * 200_000 + b"]" * 200_000),
    "a huge number": frame(b'{"a": ' + b"9" * 100_000 + b"}"),
    "no object": frame(b"[1]"),
    "no JSON": frame(b"{'a': 1}"),
    "no UTF-8": frame(b'{"a": "\xff"}'),
    "a huge head": struct.pack("!II", 1 << 31, 0) + b"x",
    "a huge payload": struct.pack("!II", 2, 1 << 31) + b"{}",
    "two answers": frame(b"{}") + frame(b"{}"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_answer_ends_the_sandbox(name, quick):
    with pytest.raises(SandboxLost):
        await answered(HOSTILE[name], quick=quick)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_crash_the_host(data):
    async def one():
        with contextlib.suppress(SandboxLost, FileError):
            await answered(data)

    asyncio.run(one())


async def test_after_a_silence_the_sandbox_is_lost_and_says_so():
    ours, theirs = socket.socketpair()
    with theirs:
        link = Link(ours, 1000)
        with pytest.raises(SandboxLost, match=r"no answer in 0\.05 s"):
            await link.request({"op": "ping"}, timeout=0.05)
        with pytest.raises(SandboxLost, match="no answer in"):
            await link.request({"op": "ping"}, timeout=0.05)


def test_numbers_of_the_filter_are_those_of_the_kernel():
    """Each refused call, by the number that this machine's C library or kernel headers know it by."""
    from pathlib import Path

    from replayer.tools.sandbox.seccomp import REFUSED, UNKNOWN

    names = {**REFUSED, **UNKNOWN}
    assert len({row[0] for row in names.values()}) == len(names)
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if header.exists():
        known = dict(
            line.split()[1:3] for line in header.read_text().splitlines() if line.startswith("#define __NR_")
        )
        for name, (number, _) in names.items():
            if f"__NR_{name}" in known:
                assert int(known[f"__NR_{name}"]) == number, name
    assert json.dumps(sorted(names))
