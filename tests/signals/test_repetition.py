"""The repetition signal through its public seam: deltas in, findings out; `scan` for text that is there."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.repetition_loops import Part, loops
from benchmarks.repetition_sound import drawn
from benchmarks.repetition_unseen import NOISES as KINDS_OF_NOISE
from benchmarks.repetition_unseen import unseen
from benchmarks.repetition_work import works
from replayer.signals.base import Expected
from replayer.signals.repetition.detector import RepetitionDetector, scan
from replayer.signals.repetition.finding import AT_THE_LIMIT, Finding
from replayer.wire.types import Channel, Delta, Reply, Timing

TESTS = Path(__file__).parent.parent
NOTHING = Reply(timing=Timing(sent=0, headers=None, first_token=None, ended=0))
NOISES = ("(Sigh)", "(Laughter)", "(Pause)", "okay")
OPENING = (
    "I read push() and flush(). The queue is emptied one record late, because the test is `>` and not `>=`. "
)


def feed(
    detector: RepetitionDetector, text: str, size: int = 4, channel: Channel = "content", call_index: int = -1
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for start in range(0, len(text), size):
        found += [
            f.as_dict() for f in detector.observe(Delta(0, channel, text[start : start + size], call_index))
        ]
    return found


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TESTS / path).read_text(encoding="utf-8").splitlines()]


def collapsed(finding: Finding | None) -> bool:
    return finding is not None and finding.level == "collapsed"


# --- what must be found ---------------------------------------------------------------------------------------


def test_a_loop_is_found_within_a_few_dozen_tokens_and_back_dated() -> None:
    found = feed(RepetitionDetector(), OPENING + "(Sigh) (Laughter) " * 60)
    alarm = found[-1]
    assert (alarm["kind"], alarm["level"], alarm["period"]) == ("cycle", "collapsed", 18)
    assert abs(alarm["onset"] - len(OPENING) - 18) <= 1
    assert alarm["detected_at"] - alarm["onset"] <= 180
    assert alarm["wasted_chars"] == alarm["detected_at"] - alarm["onset"]
    assert sorted(alarm["unit"].split()) == ["(Laughter)", "(Sigh)"]


def babble(seed: int) -> str:
    rng = random.Random(seed)
    return "".join(rng.choice(NOISES) + " " for _ in range(400))


def edited(seed: int) -> str:
    """One paragraph over and over, every twentieth word another one each time."""
    rng = random.Random(seed)
    words = [
        "the",
        "parser",
        "reads",
        "one",
        "line",
        "after",
        "the",
        "other",
        "and",
        "keeps",
        "what",
        "it",
        "cannot",
        "place",
        "in",
        "a",
        "list",
        "of",
        "leftovers",
        "that",
        "the",
        "caller",
        "may",
        "look",
        "at",
        "when",
        "all",
        "lines",
        "are",
        "read",
        "so",
        "that",
        "nothing",
        "is",
        "lost",
        "and",
        "every",
        "mistake",
        "can",
        "be",
        "told",
        "by",
        "its",
        "line",
    ]
    copies = ([rng.choice(words[::-1]) if rng.random() < 0.05 else word for word in words] for _ in range(60))
    return "\n\n".join(" ".join(copy) for copy in copies)


LOOPS = {
    "word": " own" * 300,
    "Chinese": "这个函数返回的值。" * 100,
    "sentence": "It is not available in the `test_shipper.py` file. " * 30,
    "paragraph": (OPENING * 5 + "\n\n") * 6,
    "block of 3 KB": "".join(f"def test_{n}():\n    assert push({n}) == {n * n}\n\n" for n in range(75)) * 4,
    "numbered list": "".join(
        f"{n}. **Check the process**: inspect the process and its variables.\n" for n in range(1, 60)
    ),
    "babble": babble(1),
    "edited copies": edited(1),
    "letters": "a- a-a a " * 100,
    "one character": "!" * 600,
    "blank": " \n" * 400,
    "JSON list": '"item.py", ' * 100,
    "no-break spaces": "\u00a0" * 500,
    "emoji": "😀" * 500,
}


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

STAGED = (
    "(Sigh)",
    "(Laughter)",
    "(Pause)",
    "(Cough)",
    "(Groan)",
    "(Chuckle)",
    "(Gasp)",
    "(Whisper)",
    "(Yawn)",
)
VARIANTS = {
    "two noises": (STAGED[:2], (" ",)),
    "two, ellipses": (STAGED[:2], (" … ",)),
    "eight": (STAGED[:8], (" ",)),
    "eight, ellipses": (STAGED[:8], (" … ",)),
    "eight, three dots": (STAGED[1:], ("... ",)),
    "lines": (STAGED[:6], ("\n",)),
    "commas": (STAGED[:7], (", ",)),
    "words between": (STAGED[:5], (" and then ", " again ", " so ")),
    "mixed": (STAGED[:6], (" ", " … ", "\n", " - ")),
    "stars": (("*sighs*", "*laughs*", "*coughs*", "*yawns*"), (" ", "... ")),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_noises_in_any_order_are_found_within_300_characters(name: str) -> None:
    noises, between = VARIANTS[name]
    rng = random.Random(name)
    loop = "".join(rng.choice(noises) + rng.choice(between) for _ in range(200))
    found = feed(RepetitionDetector(), OPENING + loop)
    assert found[-1]["level"] == "collapsed"
    assert found[-1]["detected_at"] - len(OPENING) <= 300


@pytest.mark.parametrize("kind", KINDS_OF_NOISE)
@pytest.mark.parametrize("order", ["in turn", "any"])
def test_ten_kinds_of_noises_between_five_separators(kind: str, order: str) -> None:
    """Of the five loops of a kind, four or more are found within 300 characters, all within 500."""
    pool, late = KINDS_OF_NOISE[kind], 0
    for between in (" ", "\n", " … ", ", ", "... "):
        rng = random.Random(f"{kind}{between}")
        drawn_in_turn = (pool[:3] * 100) if order == "in turn" else rng.choices(pool, k=300)
        finding = scan(OPENING + "".join(noise + between for noise in drawn_in_turn))
        assert collapsed(finding) and finding is not None
        onset = len("".join(noise + between for noise in pool[:3])) if order == "in turn" else 0
        delay = finding.detected_at - len(OPENING) - onset
        assert delay <= 500, (kind, between, delay)
        late += delay > 300
    assert late <= 1


SCRIPTS = {row["script"]: row["tuning"] for row in rows("corpus/scripts.jsonl")}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_sentence_in_any_script_again_and_again_is_a_collapse(script: str) -> None:
    sentence = SCRIPTS[script][0] + " "
    finding = scan(OPENING + sentence * 12)
    assert collapsed(finding) and finding is not None
    assert finding.detected_at - len(OPENING) <= 5 * len(sentence) + 160


@pytest.mark.parametrize(
    "script", ["Chinese", "Japanese", "Korean", "Devanagari", "Arabic", "Thai", "Cyrillic"]
)
def test_sentences_of_a_pool_in_any_order_are_a_collapse(script: str) -> None:
    rng = random.Random(script)
    pool = SCRIPTS[script][:6]
    between = "" if script in ("Chinese", "Japanese", "Thai") else " "
    assert collapsed(scan(OPENING + between.join(rng.choice(pool) for _ in range(90))))


def test_a_slot_that_says_nothing_new_is_a_loop_and_line_numbers_are_not() -> None:
    counted = "".join(f"{n}. Let me check the function again to see what it returns.\n" for n in range(1, 40))
    assert collapsed(scan(counted))
    clocked = "".join(
        f"[12:{n // 60:02d}:{n % 60:02d}] Let me check the log once more.\n" for n in range(400, 460)
    )
    assert collapsed(scan(clocked))
    rng = random.Random(3)
    random_id = "".join(
        f"Let me look at `task_{rng.getrandbits(32):08x}` again, it may be the cause.\n" for _ in range(60)
    )
    assert collapsed(scan(random_id))
    line, fixed = 0, ""
    for n in range(1, 31):
        line += rng.randint(1, 60)
        fixed += f"{n}. ✅ Fixed the type error in line {line}\n"
    assert not collapsed(scan(fixed))


def test_waiting_up_to_a_bound_is_sound_and_beyond_it_is_not() -> None:
    waiting = "".join(f"Waiting for the server to come up ({n}/15)...\n" for n in range(1, 16))
    assert not collapsed(scan(waiting + "It is up.\n"))
    beyond = "".join(f"Waiting for the server to come up ({n}/15)...\n" for n in range(1, 90))
    assert collapsed(scan(beyond))


@pytest.mark.parametrize("unit", [" 2>&1", " -f -b 1000", " --retry 3", " | head -20"])
def test_flags_of_a_shell_are_words_though_they_hold_digits(unit: str) -> None:
    arguments = '{"command": "make test' + unit * 120
    found = feed(RepetitionDetector(), arguments, 4, "tool_arguments", 0)
    assert found[-1]["level"] == "collapsed" and found[-1]["detected_at"] <= 22 + 450


@pytest.mark.parametrize("part", ["tuning", pytest.param("validation", marks=pytest.mark.slow)])
def test_drawn_collapses_are_found_and_drawn_work_is_sound(part: Part) -> None:
    """The sets of `benchmarks/repetition_table.py`; docs/repetition.md names what is missed."""
    samples = list(loops(part))
    missed = [
        loop.name for loop in samples if not collapsed(scan(loop.text, loop.channel, loop.finish_reason))
    ]
    assert len(missed) <= 0.03 * len(samples), missed
    assert [work.name for work in works(part) if collapsed(scan(work.text))] == []


@pytest.mark.slow
def test_the_third_set_of_collapses_is_found_and_its_work_is_sound() -> None:
    """Scored in docs/repetition.md before and after the rules were changed."""
    samples = list(unseen())
    missed = [
        loop.name for loop in samples if not collapsed(scan(loop.text, loop.channel, loop.finish_reason))
    ]
    assert len(missed) <= 0.03 * len(samples), missed
    assert len([text.name for text in drawn() if collapsed(scan(text.text))]) <= 1


# --- what must stay silent ------------------------------------------------------------------------------------

SOUND = {
    "nothing": "",
    "a song": "\n".join(f"{n} bottles of beer on the wall, {n} bottles of beer." for n in range(5)),
    "a table": "| a | b |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(200)),
    "a ruler": "=" * 120 + "\nTitle\n" + "=" * 120,
    "indentation": "\n".join(" " * (4 * depth) + "if x:" for depth in range(30)),
    "fill values": "[" + "None,\n    " * 60 + "]",
    "enum": "".join(f"    CODE_{n} = {n}\n" for n in range(20)),
    "elements of a list": "names = [\n" + '        "Street",\n' * 25 + "]\n",
    "empty strings": "CODES = (\n" + '    "",\n' * 60 + ")\n",
    "an encoded table": 'x = "' + "O$8YQaO,5;qO+)PQaO,5;q" * 14 + '"',
    "a path": '<path d="' + "L 36 36 \n" * 60 + '"/>',
    "a character map": "    '\\ufffe'\n" * 40,
    "base64 zeros": "UEsDBBQAAAAIAHRlc3QudHh0AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRob"
    + "A" * 900
    + "UEsBAhQAFAAAAAgA",
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_text_raises_no_collapse(name: str) -> None:
    assert not collapsed(scan(SOUND[name]))


def test_this_projects_own_code_is_sound() -> None:
    source = Path(__file__).parents[2] / "replayer"
    assert [
        path.name for path in source.rglob("*.py") if collapsed(scan(path.read_text(encoding="utf-8")))
    ] == []


# --- the same verdict however it arrives ----------------------------------------------------------------------


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


def test_tool_names_are_ignored_and_channels_are_watched_apart() -> None:
    detector = RepetitionDetector()
    assert feed(detector, "bash" * 200, channel="tool_name") == []
    for index in range(40):
        assert (
            feed(
                detector,
                f'{{"command": "sed -n {index},{index * 9 + 40}p src/app.py"}}',
                4,
                "tool_arguments",
                index,
            )
            == []
        )
        assert feed(detector, "Next file. ", channel="reasoning") == [] or index > 10


def test_the_same_call_again_and_again_in_one_reply() -> None:
    detector = RepetitionDetector()
    found = [
        finding
        for index in range(12)
        for finding in feed(detector, '{"path": "src/shipper.py"}', 5, "tool_arguments", index)
    ]
    assert [(f["kind"], f["level"]) for f in found] == [("calls", "suspect"), ("calls", "collapsed")]
    assert found[-1]["unit"] == '{"path": "src/shipper.py"}'


def test_a_flood_of_escaped_newlines_in_arguments() -> None:
    found = feed(RepetitionDetector(), '{"content": "import os' + "\\n" * 400, 3, "tool_arguments", 0)
    assert found[-1]["level"] == "collapsed"


def test_text_that_stands_in_the_prompt_is_no_collapse_until_it_outgrows_it() -> None:
    line = "I will not talk in class any more. "
    prompt = "Print this again:\n" + line * 30
    found = feed(RepetitionDetector(Expected(prompt_contains=prompt.__contains__)), line * 30)
    assert {alarm["level"] for alarm in found} == {"suspect"}
    found = feed(RepetitionDetector(Expected(prompt_contains=prompt.__contains__)), line * 300)
    assert found[-1]["level"] == "collapsed"


def test_a_prompt_text_copied_into_escaped_arguments_is_no_collapse() -> None:
    table = 'name = "value"\nother = "thing"\n' * 20
    arguments = json.dumps({"content": table})
    found = feed(
        RepetitionDetector(Expected(prompt_contains=table.__contains__)), arguments, 4, "tool_arguments", 0
    )
    assert "collapsed" not in {alarm["level"] for alarm in found}


def test_what_the_recorded_reply_repeats_too_is_no_collapse() -> None:
    text = "la la la, la la la, " * 30
    assert "collapsed" not in {
        alarm["level"] for alarm in feed(RepetitionDetector(Expected(recorded=text)), text)
    }


CHAIN = "".join(
    f'    elif name == "country {n:03d}":\n        return "{n * 7919 % 1000}"\n' for n in range(120)
)


def test_a_growing_chain_is_suspect_and_a_collapse_only_against_the_recording() -> None:
    assert {alarm["level"] for alarm in feed(RepetitionDetector(), CHAIN)} == {"suspect"}
    short = "I added the missing case to `resolve` and ran the tests: 14 passed."
    assert feed(RepetitionDetector(Expected(recorded=short)), CHAIN)[-1]["kind"] == "structure"
    assert feed(RepetitionDetector(Expected(recorded=short)), CHAIN)[-1]["level"] == "collapsed"
    same_kind = CHAIN.replace("country", "land")
    assert {alarm["level"] for alarm in feed(RepetitionDetector(Expected(recorded=same_kind)), CHAIN)} == {
        "suspect"
    }
