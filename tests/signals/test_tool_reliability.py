"""Counts of a lane from its verdicts."""

from __future__ import annotations

from dataclasses import asdict

from replayer.events import VerdictGiven
from replayer.signals.tool_reliability import fold
from replayer.tools.verdict import Fault


def verdict(*faults: Fault) -> VerdictGiven:
    return VerdictGiven(
        cell="a/t/0",
        attempt=1,
        step=0,
        usable=not any(fault.fatal for fault in faults),
        faults=[asdict(fault) for fault in faults],
    )


def test_turns_calls_and_blames_are_counted_once_a_turn() -> None:
    missing = [Fault("missing_parameter", "model", "", True, index, "/x") for index in (0, 0, 1)]
    counts = fold(
        [
            (verdict(), 2),
            (verdict(*missing, Fault("finish_contradicts", "engine", "", False)), 3),
            (verdict(Fault("arguments_not_json", "unknown", "", True, 0)), 1),
            (verdict(Fault("arguments_not_json", "parser", "", True, 0)), 1),
            (verdict(Fault("empty_turn", "unknown", "", True)), 0),
        ]
    ).figures()
    assert counts == {
        "turns": 5,
        "usable": 1,
        "calls": 7,
        "invalid_calls": 4,
        "faults": {"arguments_not_json": 2, "empty_turn": 1, "missing_parameter": 1},
        "blames": {"model": 1, "parser": 1, "unknown": 2},
        "by_class_and_blame": {
            "arguments_not_json": {"parser": 1, "unknown": 1},
            "empty_turn": {"unknown": 1},
            "missing_parameter": {"model": 1},
        },
        "warnings": {"finish_contradicts": 1},
        "against_recording": {},
    }
