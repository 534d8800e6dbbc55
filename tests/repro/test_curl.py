"""The curl command of a turn: a shell that runs it sends the exact request, and runs nothing else."""

import subprocess
from pathlib import Path

import orjson
import pytest

from replayer.cli import main
from replayer.repro.curl import curl
from replayer.wire.types import Request

HOSTILE = 'it\'s "quoted" $(touch pwned) `touch pwned` \\ \n ; touch pwned # %s \u2028 !! é漢\U0001f469'


@pytest.mark.parametrize("size", [1, 10_000], ids=["as an argument", "longer than an argument may be"])
def test_a_shell_sends_the_exact_request_and_runs_nothing_else(tmp_path: Path, size: int) -> None:
    stub = tmp_path / "curl"
    stub.write_text(
        '#!/bin/sh\nfor last; do :; done\nif [ "$last" = @- ]; then cat; else printf %s "$last"; fi\n'
    )
    stub.chmod(0o755)
    body = orjson.dumps({"messages": [{"role": "user", "content": HOSTILE * size}]})
    command = curl("http://h/$(touch pwned)", Request([body], stream=True), "KEY")
    done = subprocess.run(
        ["sh"],
        input=command.encode(),
        capture_output=True,
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert done.stderr == b""
    assert done.stdout == body
    assert not (tmp_path / "pwned").exists()


def test_neither_key_nor_password_is_in_it() -> None:
    command = curl("https://me:secret@host:1/v1", Request([b"{}"], stream=True), "MY_KEY")
    assert "secret" not in command and "https://host:1/v1/chat/completions" in command
    assert '"Authorization: Bearer $MY_KEY"' in command


def test_a_variable_that_would_run_something_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    engine = "a=http://127.0.0.1:9/v1,api_key_env=X$(touch pwned)"
    assert main(["run", "--trace", "fix-failing-test", "--engine", engine]) == 2
    assert "is not a name of an environment variable" in capsys.readouterr().err
