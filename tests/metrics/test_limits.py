"""What makes a finished run exit 1."""

from pathlib import Path

import pytest

from replayer.metrics.limits import broken_limits
from replayer.plan.load import make_plan
from tests.tui.pictures import Folder

LATE = 400_000_000
"""Nanoseconds: four times the default limit."""


@pytest.mark.parametrize(
    ("fail_if", "limits", "red"),
    [
        ([], {}, True),
        (["usable_turn_rate < 0.5"], {}, False),
        (["usable_turn_rate < 0.5", "collapsed_turns > 0"], {}, False),
        (["ttft_ms.p95 > 99999"], {}, True),
        (["usable_turn_rate < 0.5"], {"lag_ms": 50}, True),
    ],
)
def test_a_busy_machine_does_not_turn_a_gate_on_tool_reliability_red(
    tmp_path: Path, fail_if: list[str], limits: dict[str, float], red: bool
) -> None:
    made = Folder(tmp_path / "run", {"a": {}})
    made.turn("a", 0)
    made.journal.close()
    lane = {"name": "a", "url": "http://127.0.0.1:1/v1"}
    plan = make_plan({"traces": ["session"], "lane": [lane], "fail_if": fail_if, "limits": limits})
    assert bool(broken_limits(made.path, plan, LATE)) == red
    assert not broken_limits(made.path, plan, 0)
