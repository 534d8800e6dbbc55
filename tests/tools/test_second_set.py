"""`judge` over the second set: class and blame of every exchange, and no fault on a sound one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from replayer.cli import main
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import Case as JudgeCase
from replayer.tools.verdicts.validation import judge
from replayer.wire.types import Reply, Timing
from tests.tools import exchanges, third_set
from tests.tools.second_set import cases
from tests.tools.second_set.case import Case
from tests.tools.second_set.grammars import FAMILIES


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


@pytest.mark.slow
def test_class_and_blame_of_faulty_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged, wrong = mistakes((case for case in cases() if not case.sound), tmp_path, capsys)
    assert judged >= 400
    assert len(wrong) <= judged // 100, "\n".join(wrong)


@pytest.mark.slow
def test_no_fault_on_sound_exchanges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged, wrong = mistakes((case for case in cases() if case.sound), tmp_path, capsys)
    assert judged >= 150
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_the_third_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First scored, rules unchanged: 416 of 456 faulty ones and 188 of 192 sound ones (docs/faults.md)."""
    chosen = list(third_set.cases())
    judged, wrong = mistakes((case for case in chosen if not case.sound), tmp_path, capsys)
    assert judged >= 400 and len(wrong) <= judged // 100, "\n".join(wrong)
    judged, wrong = mistakes((case for case in chosen if case.sound), tmp_path, capsys)
    assert judged >= 150 and not wrong, "\n".join(wrong)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_leak_that_the_budget_cuts_anywhere_is_truncated(family: str) -> None:
    request = read_request(exchanges.request({}))
    validator = Validator(request.tools)
    text = FAMILIES[family]([("Bash", {"command": "ls -la /tmp"}), ("Read", {"file_path": "/a", "limit": 3})])
    for end in range(1, len(text)):
        reply = Reply(Timing(0, 0, 0, 0), content=f"I look.\n{text[:end]}", finish_reason="length", done=True)
        faults = judge(JudgeCase(reply, validator, request)).faults
        fatal = {(fault.klass, fault.blame) for fault in faults if fault.fatal}
        assert ("truncated", "budget") in fatal
        assert fatal <= {("truncated", "budget"), ("leaked_markup", "parser")}, text[:end]
