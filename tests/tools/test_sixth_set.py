"""`judge` over the sixth set: class and blame of every exchange, and no fault on a sound one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.sixth_set import FAULTY, REPORTED, SOUND
from tests.tools.test_fourth_set import mistakes


@pytest.mark.slow
def test_class_and_blame_of_faulty_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First scored, rules unchanged: 359 of 401; of the 42 misses 12 were labels (docs/faults.md)."""
    wrong = mistakes(FAULTY, tmp_path, capsys)
    assert len(FAULTY) >= 400 and not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_no_fault_on_sound_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First scored: 138 of 145; of the 7 misses one was a label."""
    wrong = mistakes(SOUND, tmp_path, capsys)
    assert len(SOUND) >= 130 and not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_what_users_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the mends 17 of 37."""
    wrong = mistakes(REPORTED, tmp_path, capsys)
    assert len(REPORTED) >= 37 and not wrong, "\n".join(wrong)
