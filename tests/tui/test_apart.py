"""Work in a child process, whose memory ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from replayer.tui.apart import apart


def test_work_apart_returns_what_it_found_and_fails_as_it_does_here() -> None:
    assert apart(lambda: {"pid": 1}) == {"pid": 1}
    with pytest.raises(ZeroDivisionError):
        apart(lambda: 1 / 0)


def test_work_whose_process_is_killed_is_done_here() -> None:
    here = os.getpid()

    def work() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), 9)
        return 7

    assert apart(work) == 7


def test_a_child_whose_parent_is_gone_ends() -> None:
    """It holds the output that is read here to its end."""
    script = (
        "import os, signal; from replayer.tui.apart import apart; "
        "apart(lambda: os.kill(os.getppid(), signal.SIGKILL) or b'x' * (1 << 20))"
    )
    run = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=60, check=False)
    assert run.returncode == -signal.SIGKILL
