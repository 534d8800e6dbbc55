"""Hostile text on its way to a terminal, and to files that people read."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from replayer.text import markdown, print_json, safe, screened
from tests.run.test_runs import replayer

HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\U000e0041<script>alert(1)</script>![i](https://evil.example/x.png)\r"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


class Liar(BaseHTTPRequestHandler):
    """Every word that this server says is hostile."""

    def do_GET(self) -> None:
        model = {"id": HOSTILE, "object": "model", "owned_by": HOSTILE, "max_model_len": HOSTILE}
        self.answer({"object": "list", "data": [model], "version": HOSTILE, "error": HOSTILE})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer({"error": {"message": HOSTILE, "type": HOSTILE, "code": HOSTILE}}, 400)

    def answer(self, document: object, status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Server", "x\x1b[31m")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def liar() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def clean(done: subprocess.CompletedProcess[str]) -> str:
    said = done.stdout + done.stderr
    assert said and not CONTROLS.search(said), CONTROLS.search(said)
    assert "Traceback" not in said
    return said


def test_a_hostile_server_writes_nothing_to_the_terminal(liar: str, tmp_path: Path) -> None:
    assert "script" in clean(replayer("doctor", liar))
    clean(replayer("doctor", liar, "--json"))
    run = tmp_path / "run"
    clean(
        replayer(
            "run",
            "--trace",
            "first-look",
            "--engine",
            f"a={liar}",
            "--max-turns",
            "1",
            "--out",
            run,
            "--plain",
        )
    )
    if (run / "journal.jsonl").exists():
        clean(replayer("report", run))
        clean(replayer("report", run, "--json"))
        assert replayer("report", run, "--markdown", tmp_path / "r.md").returncode in (0, 1)
        harmless((tmp_path / "r.md").read_text())
        assert replayer("repro", run, "1", "a", "-o", tmp_path / "case").returncode in (0, 2)


def harmless(text: str) -> None:
    assert not CONTROLS.search(text) and "<script" not in text and "![i]" not in text and "](http" not in text


def test_a_reply_is_shown_without_its_control_sequences(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(
        json.dumps({"model": "m", "messages": [{"role": "user", "content": HOSTILE}]})
    )
    call = {"id": HOSTILE, "type": "function", "function": {"name": HOSTILE, "arguments": "{"}}
    message = {"role": "assistant", "content": HOSTILE, "reasoning_content": HOSTILE, "tool_calls": [call]}
    reply = {"choices": [{"index": 0, "message": message, "finish_reason": HOSTILE}]}
    (tmp_path / "a.json").write_text(json.dumps(reply))
    clean(replayer("judge", tmp_path / "q.json", tmp_path / "a.json"))
    document = replayer("judge", tmp_path / "q.json", tmp_path / "a.json", "--json")
    clean(document)
    assert json.loads(document.stdout)["content"] == HOSTILE


def test_the_reproducers_readme_is_plain_text(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = replayer("run", "--trace", "first-look", "--engine", "a=simulated,fault=unknown_tool:turn=0", "--max-turns", "1",
                    "--out", run, "--plain")  # fmt: skip
    assert done.returncode == 0, done.stderr
    from tests.journals import rewrite

    def hostile(line: dict[str, object]) -> dict[str, object]:
        if line["type"] == "lane_ready":
            return line | {"model": HOSTILE, "facts": {**line["facts"], "version": HOSTILE}}  # type: ignore[dict-item]
        if line["type"] == "verdict":
            return line | {"faults": [{**fault, "message": HOSTILE} for fault in line["faults"]]}  # type: ignore[attr-defined]
        return line

    rewrite(run / "journal.jsonl", hostile)
    assert replayer("repro", run, "1", "a", "-o", tmp_path / "case").returncode == 0
    text = (tmp_path / "case" / "README.md").read_text()
    harmless(text)
    assert "alert" in text


def test_what_is_printed_is_screened_and_json_means_the_same(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    with screened():
        print(HOSTILE)
        print_json({"text": HOSTILE})
        print(HOSTILE, file=sys.stderr)
    printed = capfdbinary.readouterr()
    line, document = printed.out.decode().splitlines()
    assert line == safe(HOSTILE) and not CONTROLS.search(line + document)
    assert json.loads(document) == {"text": HOSTILE}
    assert printed.err.decode() == safe(HOSTILE) + "\n"


def test_markdown_of_foreign_text_is_one_line_without_markup() -> None:
    text = markdown("# a\n<img src=x> [l](javascript:x) `c` @me www.evil.example http://evil.example")
    assert "\n" not in text and not re.search(r"[<>`\[\]]|@m|www\.|://(?!\u200b)", text.replace("&#", ""))
