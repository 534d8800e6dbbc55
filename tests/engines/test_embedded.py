"""The embedded engine: its options, where its model comes from, and how it starts and ends."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from replayer.engines.embedded import llama_server as embedded
from replayer.engines.embedded import weights as embedded_model
from replayer.errors import EngineUnavailable, MissingPartError, PlanError

BODY = b"GGUF" + bytes(range(256)) * 5000
TURN = 300_000


class Hub(BaseHTTPRequestHandler):
    """A model hub that drops the connection after TURN bytes of each answer."""

    served: list[str]
    stated = hashlib.sha256(BODY).hexdigest()

    def do_GET(self) -> None:
        type(self).served.append(f"{self.path} {self.headers.get('Range', '')}".strip())
        if "absent" in self.path:
            self.send_error(404)
            return
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.send_header("X-Linked-ETag", f'"{self.stated}"')
        self.end_headers()
        self.wfile.write(BODY[start : start + TURN])
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Hub]]:
    handler = type("ThisHub", (Hub,), {"served": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield handler
        server.shutdown()
        thread.join()


def fetch(model: str) -> Path:
    return embedded_model.resolve(model, lambda label, done, total: None)


def test_hub_download_goes_on_where_it_stopped(hub: type[Hub]) -> None:
    for _ in range(len(BODY) // TURN):
        with pytest.raises(MissingPartError, match="go on where it stopped"):
            fetch("hf:someone/model-GGUF/sub/model.gguf")
    path = fetch("hf:someone/model-GGUF/sub/model.gguf")
    assert path.read_bytes() == BODY
    assert hub.served[0] == "/someone/model-GGUF/resolve/main/sub/model.gguf"
    assert hub.served[-1].endswith(f"bytes={len(BODY) // TURN * TURN}-")
    seen = len(hub.served)
    assert fetch("hf:someone/model-GGUF/sub/model.gguf") == path
    assert len(hub.served) == seen, "a cached model is not asked for again"


def test_hub_download_that_differs_from_the_stated_hash_is_refused(hub: type[Hub]) -> None:
    hub.stated = "0" * 64
    for _ in range(len(BODY) // TURN):
        with pytest.raises(MissingPartError):
            fetch("hf:a/b/c.gguf@v2")
    with pytest.raises(MissingPartError, match="arrived damaged"):
        fetch("hf:a/b/c.gguf@v2")
    assert not [path for path in embedded_model.cache_folder().rglob("c.gguf*") if path.suffix != ".lock"]


def test_hub_without_the_file(hub: type[Hub]) -> None:
    with pytest.raises(MissingPartError, match="answered 404"):
        fetch("hf:a/absent/c.gguf")


@pytest.mark.parametrize("model", ["hf:one/two", "hf:../../x.gguf", "/no/such.gguf", __file__])
def test_models_that_make_no_sense(model: str) -> None:
    with pytest.raises(PlanError, match="model="):
        fetch(model)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cxt": 2048}, "did you mean 'ctx'"),
        ({"ctx": "many"}, "option ctx"),
        ({"cache_type_k": "q9"}, "cache_type_k"),
        ({"chat_template": "/no/such.jinja", "model": "/no"}, "model=/no"),
    ],
)
async def test_options_that_make_no_sense(options: dict[str, Any], says: str) -> None:
    with pytest.raises(PlanError, match=says):
        await embedded.launch(options)


async def test_without_llama_cpp_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingPartError, match=r"pip install 'agent-replayer\[embedded\]'"):
        await embedded.launch({})


async def test_a_model_that_does_not_load_shows_the_servers_last_words(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(EngineUnavailable, match=r"did not start with .*broken\.gguf: .*bad GGUF version"):
        await embedded.launch({"model": str(broken)})


@pytest.mark.slow
async def test_a_real_server_renders_tools_resets_its_cache_and_ends_with_stop() -> None:
    pytest.importorskip("xllamacpp")
    server = await embedded.launch({"ctx": 1024, "cache_type_k": "q8_0", "speculative": "ngram-simple"})
    root = server.base_url.removesuffix("/v1")
    tool = {
        "type": "function",
        "function": {"name": "look", "description": "d", "parameters": {"type": "object"}},
    }
    body = {
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [tool],
        "max_tokens": 4,
        "temperature": 0,
    }
    async with httpx.AsyncClient(timeout=60) as client:
        prompt = (await client.post(f"{root}/apply-template", json=body)).json()["prompt"]
        assert '"name": "look"' in prompt and prompt.endswith("<|im_start|>assistant\n")
        answer = (await client.post(f"{server.base_url}/chat/completions", json=body)).json()
        assert answer["usage"]["completion_tokens"] == 4
        assert (await client.post(f"{root}/slots/0?action=erase")).json()["n_erased"] > 0
    assert server.log is not None and server.log.is_file()
    await server.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)
