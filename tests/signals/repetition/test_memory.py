"""Loops over several turns of a session."""

from __future__ import annotations

from replayer.signals.base import TurnFacts
from replayer.signals.repetition.memory import RepetitionMemory
from replayer.wire.types import Reply, Timing

THOUGHT = (
    "The test still fails. Let me look at the flush method again, because the queue should be emptied as soon as it "
    "holds batch_size records, and check whether the comparison is right in turn {n} of this session."
)


def reply(reasoning: str, content: str = "") -> Reply:
    return Reply(
        timing=Timing(sent=0, headers=None, first_token=None, ended=0), reasoning=reasoning, content=content
    )


def levels(memory: RepetitionMemory, texts: list[str]) -> list[list[str]]:
    return [[finding.level for finding in memory.after_turn(TurnFacts(0, reply(text)))] for text in texts]


def test_the_same_thought_turn_after_turn_with_small_changes() -> None:
    thoughts = [THOUGHT.format(n=n) for n in range(5)]
    assert levels(RepetitionMemory(), thoughts) == [[], [], ["suspect"], ["collapsed"], ["collapsed"]]


def test_other_turns_in_between_do_not_hide_it() -> None:
    between = "I will now run the whole suite of tests with the terminal tool and read every line of what it prints."
    thoughts = [
        THOUGHT.format(n=n) if n % 3 == 0 else f"{between} {' '.join(str(n * k) for k in range(40))}"
        for n in range(10)
    ]
    assert levels(RepetitionMemory(), thoughts)[9] == ["collapsed"]


def test_short_texts_and_different_ones_are_sound() -> None:
    assert levels(RepetitionMemory(), ["Let me run the tests."] * 20) == [[]] * 20
    different = [" ".join(f"word{n * 31 + k}" for k in range(60)) for n in range(20)]
    assert levels(RepetitionMemory(), different) == [[]] * 20


def test_what_the_recording_says_as_well_is_not_held_against_a_reply() -> None:
    memory = RepetitionMemory()
    text = THOUGHT.format(n=1)
    assert [memory.after_turn(TurnFacts(0, reply(text), text)) for _ in range(6)] == [[]] * 6
