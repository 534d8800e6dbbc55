"""Starts the process that sends a run's spans and metrics while it goes on, and repeats its one warning."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replayer.errors import PlanError
from replayer.journal.log import writer_pid
from replayer.journal.parts import JOURNAL
from replayer.text import safe
from replayer.wire.credentials import without_secrets

_START_S, _END_S = 10.0, 20.0
"""What a run waits for that process, before its first request and after its last."""


@contextmanager
def exporting(folder: Path, url: str | None, *, content: bool) -> Iterator[None]:
    """Around a run, which may be in another process and may outlive the block: the exporter ends with the run. Without a
    URL nothing is sent."""
    if url is None:
        yield
        return
    if not url.startswith(("http://", "https://")):
        raise PlanError(
            f"--otel {without_secrets(url)}: give the URL of a receiver, for example http://127.0.0.1:4318"
        )
    command = [sys.executable, "-m", "replayer.report.otlp.live", str(folder), url, *(["content"] * content)]
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert child.stdin is not None and child.stdout is not None
    ready = select.select([child.stdout], [], [], _START_S)[0]
    warned = _warned(child.stdout.readline() if ready else "")
    try:
        yield
    finally:
        child.stdin.close()
        if (folder / JOURNAL).exists() and writer_pid(folder) is None:
            left = _ended(child) or child.stdout.read()
            if not warned:
                _warned(left)
        child.stdout.close()


def _ended(child: subprocess.Popen[str]) -> str:
    """What went wrong with the process itself."""
    try:
        code = child.wait(_END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    return (
        f"--otel: the exporter did not come to its end (code {code}); `replayer report --otlp` sends all"
        if code
        else ""
    )


def _warned(words: str) -> bool:
    if words.strip():
        print(f"replayer: warning: {safe(words.strip())}", file=sys.stderr)
    return bool(words.strip())
