"""Public workloads from a local server that speaks the hub's protocol: right bytes, resumed, refused, offline."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from replayer.traces.public.workloads import workloads
from replayer.traces.reader import Trace
from tests.traces import samples as made
from tests.traces.hub_server import Hub, serving

SESSION = made.jsonl(made.pi())
FILES = {"data/one.jsonl": SESSION, "data/two.jsonl": made.jsonl(made.sts()), "README.md": b"# Sessions\n"}


def _get(
    tmp_path: Path, *arguments: str, hub: Hub | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **more}
    environment["HF_ENDPOINT"] = hub.url if hub else "http://127.0.0.1:9"
    command = [sys.executable, "-m", "replayer", "get", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def _name(hub: Hub, path: str) -> str:
    return f"hf://owner/set@{hub.revision}/{path}"


def _lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_workload_of_the_manifest_is_pinned_and_licensed() -> None:
    for known in workloads().values():
        assert known.revision in known.source and known.licence and known.attribution
        assert known.source.startswith("hf://") or (known.sha256 and len(known.sha256) == 64 and known.bytes)


def test_without_a_name_it_lists(tmp_path: Path) -> None:
    assert [line["name"] for line in _lines(_get(tmp_path, "--json"))] == list(workloads())


def test_files_of_the_hub_have_the_right_hash(tmp_path: Path) -> None:
    with serving(Hub(FILES)) as hub:
        lines = _lines(_get(tmp_path, _name(hub, "data/*.jsonl"), "--json", hub=hub, HF_TOKEN="hf_secret"))
        assert {Path(line["file"]).name: line["sha256"] for line in lines} == {
            Path(path).name: hashlib.sha256(data).hexdigest()
            for path, data in FILES.items()
            if path != "README.md"
        }
        assert set(hub.tokens) == {"Bearer hf_secret"}
        asked = len(hub.asked)
        _lines(_get(tmp_path, _name(hub, "data"), "--json", hub=hub))
        assert len(hub.asked) == asked  # what is there is not fetched again
    assert "hf_secret" not in "".join(
        path.read_text(errors="replace") for path in (tmp_path / "cache").rglob("*") if path.is_file()
    )


def test_a_fetch_that_broke_off_goes_on(tmp_path: Path) -> None:
    with serving(Hub(FILES, cuts=[700, 300])) as hub:
        [line] = _lines(_get(tmp_path, _name(hub, "data/one.jsonl"), "--json", hub=hub))
        assert Path(line["file"]).read_bytes() == SESSION
        assert [asked for _, asked in hub.asked] == [None, "bytes=700-", "bytes=1000-"]


def test_the_next_command_goes_on_where_the_last_gave_up(tmp_path: Path) -> None:
    with serving(Hub(FILES, cuts=[100] * 5)) as hub:
        done = _get(tmp_path, _name(hub, "data/one.jsonl"), hub=hub)
        assert (done.returncode, "broke off after 500 bytes" in done.stderr) == (3, True), done.stderr
        [line] = _lines(_get(tmp_path, _name(hub, "data/one.jsonl"), "--json", hub=hub))
        assert hub.asked[-1] == ("data/one.jsonl", "bytes=500-")
        assert line["sha256"] == hashlib.sha256(SESSION).hexdigest()


@pytest.mark.parametrize("path", ["data/one.jsonl", "README.md"])
def test_other_bytes_than_promised_are_refused(tmp_path: Path, path: str) -> None:
    """By the SHA-256 of a large file, and by git's own hash of a small one."""
    with serving(Hub(dict(FILES), stated={"data/one.jsonl": "0" * 64})) as hub:
        if path == "README.md":
            tree = hub.tree()
            hub.tree = lambda: tree  # type: ignore[method-assign]
            hub.files[path] = b"# Another\n!"[: len(FILES[path])]
        done = _get(tmp_path, _name(hub, path), hub=hub)
    assert done.returncode == 2 and "refused, its hash is" in done.stderr
    assert not [found for found in (tmp_path / "cache").rglob(f"*{Path(path).name}*")]


def test_without_a_network_the_files_come_from_a_folder(tmp_path: Path) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    (stick / "one.jsonl").write_bytes(SESSION)
    [line] = _lines(_get(tmp_path, "hf://owner/set@main/data/*.jsonl", "--from", str(stick), "--json"))
    assert line["sha256"] == hashlib.sha256(SESSION).hexdigest()
    (stick / "conversation_trace.jsonl").write_bytes(b"other bytes")
    done = _get(tmp_path, "mooncake-conversation", "--from", str(stick))
    assert done.returncode == 2 and "refused, its hash is" in done.stderr
    assert (stick / "conversation_trace.jsonl").exists()


def test_what_was_fetched_carries_licence_and_attribution(tmp_path: Path) -> None:
    with serving(Hub(FILES)) as hub:
        out = str(tmp_path / "out")
        lines = _lines(_get(tmp_path, _name(hub, "data/one.jsonl"), "-o", out, "--json", hub=hub))
    with Trace.open(lines[1]["trace"]) as trace:
        known = trace.header.meta["workload"]
    assert (known["attribution"], known["revision"]) == ("owner/set", "a" * 40)
    assert known["sha256"] == hashlib.sha256(SESSION).hexdigest()
    run = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "replayer",
        "run",
        "--trace",
        lines[1]["trace"],
        "--engine",
        "a=simulated",
        "--plain",
    ]
    subprocess.run([*command, "--out", str(run)], capture_output=True, timeout=120)
    for kind in ("html", "markdown"):
        subprocess.run([*command[:3], "report", str(run), f"--{kind}", str(tmp_path / kind)], timeout=120)
        assert "workload owner--set: owner/set; licence see the card" in (tmp_path / kind).read_text()


def test_a_hub_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    done = _get(tmp_path, "trace-commons")
    assert done.returncode == 3 and "cannot be reached" in done.stderr
    done = _get(tmp_path, "trace-comons")
    assert done.returncode == 2 and "trace-commons" in done.stderr
