"""Every way in which a server can stall, drip, flood, bomb and lie, beside sound streams."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.modes import EXPECTED, ROUGH, UNFINISHED

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def server(*certificates: Path) -> Iterator[list[str]]:
    """Its ports."""
    command = [sys.executable, "-m", "tests.hostile.server", *map(str, certificates)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()
        finally:
            process.kill()


def certificate(folder: Path, name: str, *more: str) -> tuple[Path, Path]:
    key, made = folder / f"{name}.key", folder / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(made), "-subj", f"/CN={name}", *more]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("certificates")
    unknown = certificate(folder, "localhost", "-days", "2", "-addext", "subjectAltName=IP:127.0.0.1")
    other = certificate(folder, "elsewhere.example", "-days", "2")
    with server() as rough, server(*unknown, *other) as sick, server() as well:
        plain = [f"http://127.0.0.1:{ports[0]}" for ports in (rough, sick, well)]
        secure = [f"https://127.0.0.1:{port}" for port in (*sick[1:], sick[0])]
        command = [sys.executable, "-m", "tests.hostile.probe", *plain, *secure]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_each_ends_with_its_fault(found: dict[str, Any]) -> None:
    assert len(EXPECTED) >= 60
    wrong = {}
    for name, (kind, words) in EXPECTED.items():
        got = found["modes"][name]
        late = name.startswith(ROUGH) and got["kind"] in UNFINISHED
        if not late and (got["kind"] != kind or words not in got["message"]):
            wrong[name] = got
    assert not wrong


def test_a_reply_that_is_whole_is_kept_whatever_follows(found: dict[str, Any]) -> None:
    for name in ("stall_after_done", "drip_comments_after_done", "flood_after_done", "two_replies"):
        assert found["modes"][name]["text"] == len("word again")


def test_tls_that_cannot_be_trusted_is_refused(found: dict[str, Any]) -> None:
    """An unknown authority, another name, a handshake that never ends, and a server without TLS."""
    words = ["is not trusted", "is not trusted", "TLS", "no connection to"]
    for number, word in enumerate(words):
        got = found["modes"][f"tls_{number}"]
        assert got["kind"] == "unreachable" and word in got["message"]


def test_a_reset_at_every_byte_is_a_broken_stream_until_the_end_was_seen(found: dict[str, Any]) -> None:
    kinds = {cut["kind"] for cut in found["cuts"]}
    assert kinds <= {None, "stream_broken"} and "stream_broken" in kinds
    assert all(cut["text"] == len("word again") for cut in found["cuts"] if cut["kind"] is None)


def test_sound_streams_beside_them_are_untouched(found: dict[str, Any]) -> None:
    assert len(found["beside"]) > 10
    assert {(reply["kind"], reply["text"]) for reply in found["alone"] + found["beside"]} == {
        (None, len("word again"))
    }


def test_memory_stays_small(found: dict[str, Any]) -> None:
    memory = found["memory"]
    assert memory["peak"] - memory["before"] < 64 and memory["receiver"] < 64
