"""`judge` over the second set: class and blame of every exchange, and no fault on a sound one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from replayer.cli import main
from tests.tools.second_set import cases
from tests.tools.second_set.case import Case


def mistakes(
    chosen: Iterator[Case], folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """How many exchanges were judged, and what was judged otherwise than labelled."""
    judged, wrong = 0, []
    for case in chosen:
        (folder / "q").write_text(json.dumps(case.request))
        (folder / "r").write_bytes(case.response)
        assert main(["judge", str(folder / "q"), str(folder / "r"), "--json"]) == 0
        mistake = case.mistake(json.loads(capsys.readouterr().out))
        judged += 1
        wrong += [mistake] if mistake else []
    return judged, wrong


def test_class_and_blame_of_faulty_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged, wrong = mistakes((case for case in cases() if not case.sound), tmp_path, capsys)
    assert judged >= 400
    assert len(wrong) <= judged // 100, "\n".join(wrong)


def test_no_fault_on_sound_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged, wrong = mistakes((case for case in cases() if case.sound), tmp_path, capsys)
    assert judged >= 150
    assert not wrong, "\n".join(wrong)
