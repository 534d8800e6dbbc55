"""The same verdict however a text arrives, in bounded memory."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.signals.repetition.detector import RepetitionDetector
from replayer.wire.types import Channel, Delta
from tests.signals.repetition.texts import (
    LOOPS,
    NOISES,
    NOTHING,
    OPENING,
    feed,
)


def cut_at_random(text: str, rng: random.Random) -> list[str]:
    pieces, start = [], 0
    while start < len(text):
        size = rng.choice((1, 2, 3, 4, 7, 31, 32, 33, 200, 5000))
        pieces.append(text[start : start + size])
        start += size
    return pieces


def verdicts(pieces: list[str], channel: Channel = "content") -> list[dict[str, Any]]:
    detector = RepetitionDetector()
    found = [finding for piece in pieces for finding in detector.observe(Delta(0, channel, piece, 0))]
    return [finding.as_dict() for finding in [*found, *detector.end(NOTHING)]]


UNITS = st.one_of(
    st.sampled_from(
        [*NOISES, " own", "\n", "ab", "é", "Turn 12: ", '"x", ', "\\n", "the test fails because ", "😀"]
    ),
    st.text(min_size=1, max_size=40),
)
TEXTS = st.lists(st.tuples(UNITS, st.integers(1, 120)), min_size=1, max_size=8).map(
    lambda parts: "".join(unit * times for unit, times in parts)
)


@settings(max_examples=60, deadline=None)
@given(
    text=TEXTS, seed=st.integers(0, 9999), channel=st.sampled_from(["content", "reasoning", "tool_arguments"])
)
def test_alarms_do_not_depend_on_how_the_text_is_cut(text: str, seed: int, channel: Channel) -> None:
    whole = verdicts([text], channel)
    assert verdicts(list(text), channel) == whole
    assert verdicts(cut_at_random(text, random.Random(seed)), channel) == whole


@pytest.mark.parametrize("name", LOOPS)
def test_loops_fall_at_the_same_offset_by_characters_tokens_and_in_one_piece(name: str) -> None:
    text = OPENING + LOOPS[name]
    one = verdicts([text])
    assert one[-1]["level"] == "collapsed"
    assert verdicts(list(text)) == one
    assert verdicts([text[at : at + 4] for at in range(0, len(text), 4)]) == one


@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_a_finding_makes_sense_whatever_arrives(text: str) -> None:
    for finding in verdicts([text]):
        assert 0 <= finding["onset"] <= finding["detected_at"] <= len(text)
        assert finding["wasted_chars"] == finding["detected_at"] - finding["onset"]
        assert len(finding["unit"]) <= 400 and 0 <= finding["confidence"] <= 1
        assert json.loads(json.dumps(finding)) == finding


ADVERSARIAL = {
    "almost periodic": "".join("ab" * 31 + "c" * (n % 7) for n in range(3000)),
    "Thue-Morse": "".join("ab"[bin(n).count("1") % 2] for n in range(100_000)),
    "Fibonacci word": (lambda a, b: [(a, b := b + a)[0] and (a := b) for _ in range(22)][-1])("b", "a"),
    "growing periods": "".join(("x" * n + "y") * 2 for n in range(1, 300)),
    "quotes": "\"'" * 40_000,
    "digits": "".join(str(n) for n in range(30_000)),
    "lone surrogates": "\ud800 \udfff" * 20_000,
    "NULs and newlines": ("\0" * 380 + "\n" * 380) * 90,
    "broken before they count": "".join((f"{n:05d} is a line of text\n" * 5)[:110] for n in range(500)),
    "self-similar": (lambda s: [s := s + "c" + s for _ in range(15)][-1])("ab"),
    "de Bruijn": "".join(f"{n:013b}".replace("0", "a").replace("1", "b") for n in range(8192)),
    "blanks and letters": (" " * 300 + "q") * 500,
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_inputs_neither_crash_nor_grow(name: str) -> None:
    text = str(ADVERSARIAL[name])
    detector = RepetitionDetector()
    feed(detector, text, size=64)
    assert len(pickle.dumps(detector._streams)) < 400_000
    start = text[:20_000]
    assert verdicts(list(start)) == verdicts([start])


def test_memory_does_not_grow_with_the_reply() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(4000)]
    detector, sizes = RepetitionDetector(), []
    for _ in range(4):
        feed(detector, " ".join(rng.choices(words, k=15_000)), size=32)
        sizes.append(len(pickle.dumps(detector._streams)))
    assert sizes[-1] < 1.3 * sizes[0]


# --- channels, calls, evidence --------------------------------------------------------------------------------
