"""Work in a child process, whose memory ends with it."""

from __future__ import annotations

import os

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
