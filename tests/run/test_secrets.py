"""What a user keeps to himself stays there: a run folder is its owner's, and no secret of a lane is written down."""

from __future__ import annotations

import os
import socket
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from replayer.cli import main
from tests.run.test_headers import Server, server

__all__ = ["server"]


def test_a_run_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder, before = tmp_path / "run", os.umask(0o022)
    try:
        words = ["--trace", "first-look", "--engine", "a=simulated", "--max-lag", "60000"]
        assert main(["run", "--plain", *words, "--out", str(folder)]) == 0
    finally:
        os.umask(before)
    found = {path: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    assert {path.name for path in found} >= {"journal.jsonl", "trace.jsonl", "a.jsonl"}
    wrong = {path: oct(mode) for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)}
    assert not wrong


CANARY = "c4nary-0f-the-cage"


def _leaks(capsys: pytest.CaptureFixture[str], folder: Path) -> list[str]:
    """Everything that was said and written that holds the canary."""
    said = capsys.readouterr()
    found = [line for line in (said.out + said.err).splitlines() if CANARY in line]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return found + [str(path) for path in files if CANARY.encode() in path.read_bytes()]


def _run(*words: str) -> int:
    return main(["run", "--plain", "--trace", "first-look", "--max-lag", "60000", *words])


def _told_everywhere(run: Path) -> None:
    """Every report and folder that a run can become."""
    for kind in ("html", "markdown", "csv", "junit"):
        assert main(["report", str(run), f"--{kind}", str(run / f"report.{kind}")]) == 0
    assert main(["report", str(run), "--json"]) == 0
    assert main(["report", str(run), "--rejudge", "--json"]) == 0
    assert main(["repro", str(run), "1", "a", "--out", str(run / "repro")]) == 0


@pytest.mark.parametrize(
    "spec",
    [
        "a=http://me:{canary}@127.0.0.1:{port}/v1,model=m",
        "a=http://{canary}@127.0.0.1:{port}/v1,model=m,extra.top_k=3",
        "a=http://127.0.0.1:{port}/v1,model=m,extra.api_key={canary}",
        'a=http://127.0.0.1:{port}/v1,model=m,extra.meta={{"hf_token":"{canary}"}}',
        "a=http://127.0.0.1:{port}/v1,model=m,sampling.auth_token={canary}",
    ],
)
def test_a_secret_reaches_the_server_and_no_file(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str
) -> None:
    engine = spec.format(canary=CANARY, port=server.port)
    assert _run("--engine", engine, "--aa", "--out", str(tmp_path / "run")) in (0, 1)
    login = b64encode(engine.partition("//")[2].partition("@")[0].encode()).decode()
    turn = server.bodies[-1] if "@" not in engine else server.heads[-1]
    assert (CANARY if "@" not in engine else login if "me:" in engine else "Basic ") in turn
    _told_everywhere(tmp_path / "run")
    readme = (tmp_path / "run" / "repro" / "README.md").read_text()
    assert ("[not kept]" in readme) == (CANARY in server.bodies[-1])
    assert not _leaks(capsys, tmp_path)


def test_secrets_of_a_plan_file_stay_in_it(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"me:{CANARY}@127.0.0.1:{server.port}/v1"
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'[[lane]]\nname = "a"\nurls = ["http://{address}", "http://{address}"]\nmodel = "m"\n'
        f'extra = {{ api_key = "{CANARY}" }}\n[matrix]\nmax_tokens = [8, 9]\n'
    )
    assert _run(str(plan), "--out", str(tmp_path / "out" / "run")) in (0, 1)
    assert any(CANARY in body for body in server.bodies)
    assert not _leaks(capsys, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(
    "word", [f'"--api-key", "{CANARY}"', f'"--api-key={CANARY}"', '"--api-key", "env:KEY_OF_A"']
)
def test_a_secret_of_a_start_command_reaches_its_server_and_no_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """The server prints its arguments, as engines do, and refuses every other key."""
    monkeypatch.setenv("KEY_OF_A", CANARY)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    plan = tmp_path / "plan.toml"
    serve = f'"env", "HF_TOKEN={CANARY}", "{sys.executable}", "-m", "replayer", "simulate"'
    plan.write_text(
        f'[[lane]]\nname = "a"\nurl = "http://127.0.0.1:{port}/v1"\napi_key_env = "KEY_OF_A"\ncommand = '
        f"""["sh", "-c", "echo $*; exec \\"$@\\"", "sh", {serve}, "--port", "{port}", {word}]\n"""
    )
    folder = tmp_path / "out" / "run"
    assert _run(str(plan), "--out", str(folder)) == 0
    assert b"--api-key" in (folder / "engines" / "a.log").read_bytes()
    _told_everywhere(folder)
    assert not _leaks(capfd, tmp_path / "out")


@pytest.mark.parametrize(
    "words",
    [
        ("--engine", f"a=http://127.0.0.1:1/v1?key={CANARY}"),
        ("--engine", f"a=http://me:{CANARY}@127.0.0.1:1/v1"),
        ("--engine", f"a=http://me:{CANARY}/x@127.0.0.1:1/v1"),
        ("--engine", f"a=http://me:x,{CANARY}@127.0.0.1:1/v1"),
        ("--engine", f"a=http://me:{CANARY}@127.0.0.1:1/v1,nothing"),
        ("--engine", f"a=me:{CANARY}@127.0.0.1:1/v1"),
        ("--engine", f"a=http://127.0.0.1:1/v1,extra.api_key={CANARY},nothing"),
        ("--engine", f"a=http://127.0.0.1:1/v1,api_key_env=sk-{CANARY}"),
        ("--engine", "a=simulated", "--set", f"matrix.extra.api_key=['{CANARY}']"),
        ("--engine", "a=simulated", "--set", f"repeat.api_key={CANARY}"),
        ("--engine", f"a=http://me:{CANARY}@127.0.0.1:1/v1", "--set", f"lane.url=http://u:{CANARY}@h/v1#x"),
    ],
)
def test_no_error_repeats_a_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert _run(*words, "--out", str(tmp_path / "run")) in (1, 2, 3)
    said = capsys.readouterr()
    assert said.err and CANARY not in said.out + said.err
    assert not _leaks(capsys, tmp_path)


def test_a_run_goes_on_only_with_its_credential(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = tmp_path / "run", f"127.0.0.1:{server.port}/v1"
    engine = f"a=http://me:{CANARY}@{address},model=m"
    _run("--engine", engine, "--repeat", "2", "--out", str(folder))
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(whole) if b'"session_finished"' in line)
    for given, word in (
        ([], None),
        (["--engine", engine], "Basic "),
        (["--engine", f"a=http://{address},api_key_env=KEY_OF_A"], "Bearer from-outside"),
    ):
        monkeypatch.setenv("KEY_OF_A", "from-outside")
        journal.write_bytes(b"".join(whole[: cut + 1]))
        server.heads.clear()
        capsys.readouterr()
        code = main(["resume", str(folder), "--plain", *given])
        said = capsys.readouterr().err
        if word is None:
            assert code == 2 and not server.heads
            assert (
                "the credential in its url was not written into the run folder; give the lane again" in said
            )
        else:
            assert code in (0, 1) and server.heads and all(word in head for head in server.heads)
        assert CANARY not in said
    assert not _leaks(capsys, tmp_path)


def test_a_key_that_the_server_repeats_is_not_written(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_A", CANARY)
    server.repeats_keys = True
    engine = f"a=http://127.0.0.1:{server.port}/v1,model=m,api_key_env=KEY_OF_A"
    assert _run("--engine", engine, "--out", str(tmp_path / "run")) == 1
    assert b"refused: " in (tmp_path / "run" / "journal.jsonl").read_bytes()
    assert not _leaks(capsys, tmp_path)


@pytest.mark.parametrize(
    "rest", ["me:{0}@h:1/v1", "me:{0}/{0}@127.0.0.1:1/v1", "h:1/v1?key={0}", "u:{0}@h/v1#{0}"]
)
def test_doctor_repeats_no_secret(capsys: pytest.CaptureFixture[str], rest: str) -> None:
    assert main(["doctor", "http://" + rest.format(CANARY)]) != 0
    said = capsys.readouterr()
    assert said.err and CANARY not in said.out + said.err
