"""Loops of calls over a session, told from polling and from what the recording does itself."""

from __future__ import annotations

from replayer.signals.base import TurnFacts
from replayer.signals.call_loops import Called, CallLoops, LoopFinding
from replayer.wire.types import Reply, Timing

NOTHING = Reply(timing=Timing(sent=0, headers=None, first_token=None, ended=0))


def called(name: str, arguments: str = "{}", result: str | None = "same", is_error: bool = False) -> Called:
    return Called(name, arguments, result, is_error)


def watch(calls: list[Called], recorded: list[Called] | None = None) -> list[LoopFinding]:
    """One call a turn."""
    loops, found = CallLoops(), list[LoopFinding]()
    for number, call in enumerate(calls):
        found += loops.after_turn(
            TurnFacts(number, NOTHING, calls=[call], recorded_calls=[recorded[number]] if recorded else [])
        )
    return found


def kinds(found: list[LoopFinding]) -> list[tuple[str, str, int]]:
    return [(finding.kind, finding.level, finding.turn) for finding in found]


def test_the_same_call_again_is_suspect_and_then_a_loop() -> None:
    assert kinds(watch([called("ls")] * 6)) == [("identical", "suspect", 2), ("identical", "loop", 4)]


def test_spelling_and_excuses_do_not_hide_a_loop() -> None:
    spelled = ['{"a": 1, "b": 2}', '{"b":2,"a":1.0}', '{"a": 1, "b": 2, "description": "once more"}']
    assert kinds(watch([called("x", arguments) for arguments in spelled])) == [("identical", "suspect", 2)]


def test_polling_is_no_loop() -> None:
    assert watch([called("tail", result=f"line {n}") for n in range(12)]) == []


def test_unknown_results_count_as_the_same() -> None:
    assert kinds(watch([called("ls", result=None)] * 3)) == [("identical", "suspect", 2)]


def test_a_cycle_is_found_on_its_third_round() -> None:
    assert kinds(watch([called("edit"), called("test")] * 3)) == [("cycle", "loop", 5)]
    assert kinds(watch([called("a"), called("b"), called("c")] * 3)) == [("cycle", "loop", 8)]


def test_a_cycle_that_makes_progress_is_none() -> None:
    rounds = [[called("edit"), called("test", result=f"{n} failed")] for n in range(9, 0, -1)]
    assert watch([call for pair in rounds for call in pair]) == []


def test_the_same_error_three_times() -> None:
    failing = called("edit", result="old text not found", is_error=True)
    assert kinds(watch([failing] * 3)) == [("identical", "suspect", 2), ("same_error", "loop", 2)]


def test_what_the_recording_repeats_too_does_not_count() -> None:
    same = [called("ls", result=None)] * 8
    assert watch(same, recorded=same) == []
    other = [called("ls", result=None), *(called(f"t{n}", result=None) for n in range(7))]
    assert kinds(watch(same, recorded=other)) == [("identical", "suspect", 2), ("identical", "loop", 4)]
    twice = [called("ls", result=None), called("ls", result=None), *other[1:7]]
    assert kinds(watch(same, recorded=twice)) == [("identical", "suspect", 2), ("identical", "loop", 4)]


def test_parallel_calls_of_one_reply_count_one_by_one() -> None:
    found = CallLoops().after_turn(TurnFacts(0, NOTHING, calls=[called("read")] * 5))
    assert kinds(found) == [("identical", "suspect", 0), ("identical", "loop", 0)]


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    assert kinds(watch([called("x", "{bad")] * 3)) == [("identical", "suspect", 2)]
    assert watch([called("x", "{bad" + "!" * n) for n in range(5)]) == []


def test_findings_are_plain_data() -> None:
    (finding,) = watch([called("ls")] * 3)
    assert finding.as_dict() == {
        "kind": "identical",
        "level": "suspect",
        "name": "ls",
        "length": 3,
        "period": 1,
        "turn": 2,
    }
