"""Servers that never end, flood, or lie: detection, facts and metrics end in time, with little memory and one sentence."""

import asyncio
import contextlib
import gzip
import socket
import threading
import tracemalloc

import pytest

from replayer.cli import main
from replayer.engines.detect import connect, facts_of
from replayer.errors import EngineUnavailable, PlanError
from replayer.telemetry.sampler import read
from tests.wire import certificates

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
BOMB = gzip.compress(gzip.compress(b" " * 64_000_000, 1))
MODELS = b'{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}'


def whole(body, head=HEAD):
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


async def endless(writer, piece, pause=0.0):
    while True:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause)


async def interim(writer):
    await endless(writer, b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.001)


async def headers(writer):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await endless(writer, b"x-more: " + b"y" * 1000 + b"\r\n")


async def drip(writer):
    writer.write(HEAD + b"content-length: 1000000\r\n\r\n{")
    await endless(writer, b" ", 0.02)


async def flood(writer):
    writer.write(HEAD + b"transfer-encoding: chunked\r\n\r\n")
    await endless(writer, b"10000\r\n" + b"[" * 65536 + b"\r\n")


async def bomb(writer):
    writer.write(whole(BOMB, HEAD + b"content-encoding: gzip, gzip\r\n"))
    await writer.drain()


async def silent(writer):
    await asyncio.sleep(60)


@contextlib.asynccontextmanager
async def serving(answer, models=None, pages=None):
    """Answers every request in one hostile way; `models` is what /models gets instead, `pages` what other paths get."""

    tasks = set()

    async def handle(reader, writer):
        tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.CancelledError), contextlib.closing(writer):
            while line := await reader.readline():
                while await reader.readline() not in (b"\r\n", b""):
                    pass
                if models is not None and b"/models " in line:
                    writer.write(whole(models))
                elif pages and (page := pages.get(line.split()[1])):
                    writer.write(whole(page))
                else:
                    await answer(writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def nowhere(writer):
    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")


MODES = [interim, headers, drip, flood, bomb, silent]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("replayer.engines.detect.PROBE_SECONDS", 0.4)
    monkeypatch.setattr("replayer.engines.openai.adapter.PROBE_SECONDS", 0.4)
    monkeypatch.setattr("replayer.engines.openai.adapter.METRICS_SECONDS", 0.4)


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_never_says_what_it_is_is_unavailable(mode):
    tracemalloc.start()
    async with serving(mode) as url, asyncio.timeout(5):
        with pytest.raises(EngineUnavailable) as caught:
            await connect(url)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value) and peak < 32 << 20


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_only_lists_its_models_still_has_facts(mode):
    async with serving(mode, MODELS) as url, asyncio.timeout(10):
        engine = await connect(url)
        facts, sample = await engine.facts(), await read(engine)
        await engine.aclose()
    assert (facts.kind, facts.model, facts.version) == ("vllm", "m", None)
    assert sample["missing"] not in ("", "off")


HUGE = b"9" * 5000
ODD = {
    "vllm": {
        b"/version": b'{"version":"' + HUGE + b'"}',
        b"/metrics": b'vllm:cache_config_info{block_size="\xc2\xb2",num_gpu_blocks="' + HUGE + b'"} 1\n'
        b'vllm:spec_decode_num_accepted_tokens_per_pos_total{position="' + HUGE + b'"} 1\n'
        b'vllm:prompt_tokens_total 1e308\nvllm:generation_tokens_total{a="b"} 1e308\n',
    },
    "sglang": {
        b"/server_info": b'{"version":5,"internal_states":7,"page_size":0,"context_length":-1,"model_path":["x"],'
        b'"kv_cache_dtype":"auto","max_total_num_tokens":1000000000000000000000000000000}'
    },
    "llamacpp": {
        b"/props": b'{"model_path":5,"build_info":{},"total_slots":-3,"default_generation_settings":{"n_ctx":1e300}}',
        b"/slots": b"[1,2]",
    },
    "trtllm": {
        b"/version": b"[1]",
        b"/metrics": b'[{"numActiveRequests":"x","kvCacheStats":{"maxNumBlocks":1e19,"tokensPerBlock":[]},'
        b'"specDecodingStats":{"numDraftTokens":"y"}}]',
    },
}


@pytest.mark.parametrize("kind", ODD)
async def test_settings_that_make_no_sense_count_as_not_said(kind):
    models = b'{"data":[{"id":"m","max_model_len":-5,"root":7},{"id":"' + b"x" * 2000 + b'"}]}'
    async with serving(nowhere, models, ODD[kind]) as url:
        engine = await connect(url, kind=kind)
        facts, sample = await facts_of(engine), await read(engine)
        await engine.aclose()
    numbers = (facts.context_length, facts.kv_pool_tokens)
    assert (facts.model, facts.models, facts.version, numbers) == ("m", ("m",), None, (None, None))
    assert facts.block_size in (None, 1) and "weights" not in facts.effective
    assert all(not isinstance(value, float) or abs(value) < 1e15 for value in sample.values())


async def test_pages_nested_without_end_are_no_facts():
    deep = b"[" * 100_000 + b"]" * 100_000
    pages = dict.fromkeys((b"/version", b"/props"), deep)
    async with serving(nowhere, b'{"data":' + deep + b"}", pages) as url:
        engine = await connect(url)
        facts = await facts_of(engine)
        await engine.aclose()
    assert (facts.kind, facts.model) == ("openai", None)


@pytest.mark.parametrize("tokens", [10**30, 2**63, 1e308, -1, float("inf"), True, "5", [1]])
async def test_a_number_of_tokens_that_no_reply_has_is_not_reported(tokens):
    async with serving(nowhere, MODELS) as url:
        engine = await connect(url)
        usage = engine.usage({"prompt_tokens": tokens, "completion_tokens": 3}, {})
        await engine.aclose()
    assert usage is not None and (usage.prompt_tokens, usage.completion_tokens) == (None, 3)


async def test_a_flood_of_models_is_refused():
    models = b'{"data":[' + b"{}," * 1_000_000 + b"{}]}"
    async with serving(silent, models) as url:
        with pytest.raises(EngineUnavailable, match="larger than 2 MiB"):
            await connect(url)


@pytest.mark.parametrize("url", ["http://h/v1?key=SECRET", "http://u:SECRET@h/v1?x=1", "ftp://u:SECRET@h"])
async def test_a_url_that_cannot_be_used_is_not_repeated_with_its_secret(url):
    with pytest.raises(PlanError) as caught:
        await connect(url)
    assert "SECRET" not in str(caught.value)


async def test_a_login_in_the_url_is_sent_and_never_shown(serve):
    url = await serve()
    dialled = url.replace("//", "//user:SECRET@")
    engine = await connect(dialled)
    facts = await engine.facts()
    await engine.aclose()
    assert engine.http.headers["authorization"].startswith("Basic ")
    assert engine.dial_url == dialled and facts.base_url == engine.base_url == url
    with pytest.raises(EngineUnavailable) as caught:
        await connect("http://user:SECRET@127.0.0.1:9/v1")
    assert "SECRET" not in str(caught.value)


async def test_escape_sequences_of_a_server_do_not_reach_the_terminal(capsys):
    models = b'{"data":[{"id":"\\u001b[31mred\\u001b]0;title\\u0007","owned_by":"vllm"}]}'

    async with serving(nowhere, models) as url:
        assert await asyncio.to_thread(main, ["doctor", url]) == 0
    shown = capsys.readouterr().out
    assert "red" in shown and "\x1b" not in shown and "\x07" not in shown


NOW_AND_LATER = "20200101000000Z", "20400101000000Z"


@pytest.mark.parametrize(
    ("dates", "name", "words"),
    [
        (("20200101000000Z", "20210101000000Z"), "IP:127.0.0.1", "not trusted (certificate has expired)"),
        (
            ("20390101000000Z", "20400101000000Z"),
            "IP:127.0.0.1",
            "not trusted (certificate is not yet valid)",
        ),
        (NOW_AND_LATER, "DNS:elsewhere.example", "not trusted (IP address mismatch"),
    ],
)
async def test_a_certificate_that_does_not_hold_is_named(tmp_path, monkeypatch, dates, name, words):
    tls, vouches = certificates.between(tmp_path, *dates, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(vouches))
    met = one_connection(lambda taken: tls.wrap_socket(taken, server_side=True).close())
    with met as url, pytest.raises(EngineUnavailable) as said:
        await connect(url)
    assert words in str(said.value) and "_ssl.c" not in str(said.value)


async def test_a_handshake_that_stalls_ends_with_the_time_for_a_first_answer():
    def mute(taken):
        while taken.recv(65536):
            pass

    met = one_connection(mute)
    with met as url, pytest.raises(EngineUnavailable, match=r"did not answer within 0\.3 s"):
        await connect(url, within=0.3)


@contextlib.contextmanager
def one_connection(meet):
    """A server for one client, in a thread of its own that closes all it took."""

    def serve():
        with contextlib.suppress(OSError):
            taken, _ = listener.accept()
            with taken:
                taken.settimeout(60)
                meet(taken)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join()
