"""Counts of a lane from its verdicts."""

from __future__ import annotations

from dataclasses import asdict

from replayer.signals.tool_reliability import FaultMark, fold, marks
from replayer.tools.verdicts.verdict import Fault


def turn(*faults: Fault) -> tuple[FaultMark, ...]:
    return marks([asdict(fault) for fault in faults])


def test_a_turn_counts_once_for_each_class_and_blame() -> None:
    missing = [Fault("missing_parameter", "model", "", True, index, "/x") for index in (0, 0, 1)]
    turns = [
        turn(),
        turn(*missing, Fault("finish_contradicts", "engine", "", False)),
        turn(Fault("arguments_not_json", "unknown", "", True, 0), *missing),
        turn(Fault("arguments_not_json", "parser", "", True, 0)),
        turn(Fault("leaked_markup", "parser", "", False), Fault("truncated", "budget", "", True)),
    ]
    assert fold(turns).figures() == {
        "faults": {
            "arguments_not_json": 2,
            "finish_contradicts": 1,
            "leaked_markup": 1,
            "missing_parameter": 2,
            "truncated": 1,
        },
        "fatal_faults": {"arguments_not_json": 2, "missing_parameter": 2, "truncated": 1},
        "blames": {"budget": 1, "model": 2, "parser": 1, "unknown": 1},
        "faults_by_blame": {
            "arguments_not_json": {"parser": 1, "unknown": 1},
            "missing_parameter": {"model": 2},
            "truncated": {"budget": 1},
        },
    }
