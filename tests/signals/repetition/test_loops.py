"""What the repetition signal must find: exact loops, copies, and real outputs; `scan` and deltas."""

from __future__ import annotations

import random

import pytest

from replayer.signals.repetition.detector import RepetitionDetector, scan
from replayer.signals.repetition.finding import AT_THE_LIMIT
from tests.signals.repetition.texts import (
    LOOPS,
    OPENING,
    collapsed,
    feed,
    rows,
)


def test_a_loop_is_found_within_a_few_dozen_tokens_and_back_dated() -> None:
    found = feed(RepetitionDetector(), OPENING + "(Sigh) (Laughter) " * 60)
    alarm = found[-1]
    assert (alarm["kind"], alarm["level"], alarm["period"]) == ("cycle", "collapsed", 18)
    assert abs(alarm["onset"] - len(OPENING) - 18) <= 1
    assert alarm["detected_at"] - alarm["onset"] <= 180
    assert alarm["wasted_chars"] == alarm["detected_at"] - alarm["onset"]
    assert sorted(alarm["unit"].split()) == ["(Laughter)", "(Sigh)"]


@pytest.mark.parametrize("name", LOOPS)
def test_every_kind_of_loop_is_a_collapse(name: str) -> None:
    finding = scan(OPENING + LOOPS[name])
    assert collapsed(finding), finding
    assert finding is not None and finding.detected_at <= len(OPENING + LOOPS[name])


def test_real_collapses_are_found_and_sound_outputs_are_not() -> None:
    assert [
        row["name"] for row in rows("collapse/collapsed.jsonl") if not collapsed(scan(row["output"]))
    ] == []
    assert [row["name"] for row in rows("collapse/not_collapsed.jsonl") if scan(row["output"])] == []


@pytest.mark.parametrize("part", ["tuning", "validation"])
def test_the_embedded_models_outputs(part: str) -> None:
    corpus = rows(f"corpus/embedded-{part}.jsonl")
    loops = [row for row in corpus if row["label"] == "collapsed"]
    found = [row for row in loops if collapsed(scan(row["text"], finish_reason=row["finish_reason"]))]
    assert len(found) >= 0.98 * len(loops)
    sound = [row for row in corpus if row["label"] == "sound"]
    alarmed = [
        row["name"] for row in sound if collapsed(scan(row["text"], finish_reason=row["finish_reason"]))
    ]
    assert alarmed == []


LICENCE = (
    "THE AUTHORS DISCLAIM ALL WARRANTIES WITH REGARD TO THIS SOFTWARE, INCLUDING ALL IMPLIED WARRANTIES OF"
    " MERCHANTABILITY AND FITNESS; IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY SPECIAL, INDIRECT OR"
    " CONSEQUENTIAL DAMAGES RESULTING FROM LOSS OF USE, DATA OR PROFITS (bug #485536, gtk-2.10 <URL>)."
)


@pytest.mark.parametrize("share", [0.05, 0.15])
def test_copies_with_changed_words_are_a_collapse_in_any_kind_of_text(share: float) -> None:
    rng = random.Random(7)
    others = OPENING.split()
    text = "\n\n".join(
        " ".join(rng.choice(others) if rng.random() < share else word for word in LICENCE.split())
        for _ in range(40)
    )
    finding = scan(OPENING + text)
    assert finding is not None and (finding.kind, finding.level) == ("recycled", "collapsed")
    assert finding.period is not None and abs(finding.period - len(LICENCE)) < 0.1 * len(LICENCE)
    assert finding.onset < 2 * len(LICENCE) and finding.detected_at < 30 * len(LICENCE)


def test_copies_that_change_in_the_same_places_are_a_template_and_no_collapse() -> None:
    text = "".join(
        f"@property\ndef {name}(self) -> Optional[{kind}]:\n    # the value as the server sent it, or None if it"
        f" was left out; see the notes on {name}\n    return self._fields.get_or_none({name!r}, {kind})\n\n"
        for name, kind in zip("abcdefghijklmnopqrstuvwxyz", ["int", "str", "bytes", "Path"] * 7, strict=False)
    )
    assert not collapsed(scan(text))


@pytest.mark.parametrize(("text", "length"), [("```\n", 200), ("1234567890", 450), ("0", 450), ("= ", 250)])
def test_a_suspicion_is_enough_where_the_token_limit_cut_a_running_cycle(text: str, length: int) -> None:
    reply = OPENING + (text * length)[:length]
    assert not collapsed(scan(reply))
    alarm = scan(reply, finish_reason="length")
    assert collapsed(alarm) and alarm is not None and alarm.note == AT_THE_LIMIT
    assert not collapsed(scan(reply, finish_reason="stop"))
    assert not collapsed(scan(reply + "\n" + OPENING, finish_reason="length"))


def test_the_end_of_a_stream_does_not_begin_the_cycle_anew() -> None:
    """A text of a whole number of turns leaves nothing to look at when it closes."""
    fields = (
        "SIMPLE  =                    T / conforms              BITPIX  =                    8 / bits        "
    )
    assert not collapsed(scan((fields * 2 + " " * 2880)[: 32 * 90]))


# --- the founding failure, in any order; other scripts; slots ---------------------------------------------------
