"""`judge` over the fifth set: class and blame of every exchange, and no fault on a sound one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replayer.cli import main
from tests.tools.fifth_set import FAULTY, SOUND, SURROUNDED
from tests.tools.fifth_set.pairs import PAIRS
from tests.tools.fourth_set.build import request_of, response_of
from tests.tools.test_fourth_set import mistakes


@pytest.mark.slow
def test_class_and_blame_of_faulty_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First scored, rules unchanged: 404 of 461; of the 57 misses 10 were labels (docs/faults.md)."""
    wrong = mistakes(FAULTY, tmp_path, capsys)
    assert len(FAULTY) >= 400 and len(wrong) <= len(FAULTY) // 100, "\n".join(wrong)


@pytest.mark.slow
def test_no_fault_on_sound_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First scored: 195 of 206; of the 11 misses 4 were labels."""
    wrong = mistakes(SOUND, tmp_path, capsys)
    assert len(SOUND) >= 190 and not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_form_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the mends 329 of 384; a tail without a name cannot be compared with the call beside it."""
    wrong = mistakes(SURROUNDED, tmp_path, capsys)
    assert len(SURROUNDED) >= 300 and len(wrong) <= 1, "\n".join(wrong)


def test_what_two_modes_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = []
    for each, other in PAIRS:
        (tmp_path / "q").write_text(json.dumps(request_of(each)))
        (tmp_path / "r").write_bytes(response_of(each))
        (tmp_path / "o").write_bytes(response_of(other))
        paths = [str(tmp_path / name) for name in "qro"]
        assert main(["judge", *paths[:2], "--no-stream", "--pair", paths[2], "--json"]) == 0
        mistake = each.mistake(json.loads(capsys.readouterr().out))
        wrong += [mistake] if mistake else []
    assert not wrong, "\n".join(wrong)
