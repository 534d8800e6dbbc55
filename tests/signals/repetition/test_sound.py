"""What must stay silent, and repetition that was asked for."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from replayer.signals.base import Expected
from replayer.signals.repetition.detector import RepetitionDetector, scan
from tests.signals.repetition.texts import TESTS, collapsed, feed

NUMBERS = "Nine Eight Seven Six Five Four Three Two One No".split()
SOUND = {
    "nothing": "",
    "a song": "\n".join(f"{n} bottles of beer on the wall, {n} bottles of beer." for n in range(5)),
    "a counting song": "".join(
        f"{many} red kites upon the line,\n{many} red kites upon the line,\nAnd if the wind should tear the twine,\n"
        f"There'll be {fewer} red kites upon the line.\n\n"
        for many, fewer in pairwise(NUMBERS)
    ),
    "a plan of sixty lines": "".join(
        f"{n}. Migrate src/{chr(97 + n % 26)}/view_{n * 7 % 60}.ts to the new client and run its tests.\n"
        for n in range(1, 61)
    ),
    "steps of a plan": "".join(f"Step {n}: port `module_{n * 37 % 60}` to Rust.\n" for n in range(1, 61)),
    "a poll": "".join(f"Still running: {n} % done, {n * 7 % 11} jobs left.\n" for n in range(3, 101, 3)),
    "function keys": "".join(f"#define key_f{n} CUR Strings[{n + 66}]\n" for n in range(64)),
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
    "base64 of a bitmap": "url(data:image/bmp;base64," + "AABLAAAASwAAAEsA" * 60 + ")",
    "base64 zeros": "UEsDBBQAAAAIAHRlc3QudHh0AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRob"
    + "A" * 900
    + "UEsBAhQAFAAAAAgA",
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_text_raises_no_collapse(name: str) -> None:
    assert not collapsed(scan(SOUND[name]))


def test_this_projects_own_code_is_sound() -> None:
    source = TESTS.parent / "replayer"
    assert [
        path.name for path in source.rglob("*.py") if collapsed(scan(path.read_text(encoding="utf-8")))
    ] == []


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
