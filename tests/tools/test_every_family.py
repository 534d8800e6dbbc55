"""Every family's grammar with every tempting value: what was written is read, and blamed by what it says."""

from __future__ import annotations

import pytest

from replayer.tools.verdicts.leak_faults import read_call
from replayer.tools.verdicts.markup import find_leaks
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from tests.tools.fifth_set import SOUND
from tests.tools.fifth_set.writers import VALUES
from tests.tools.fifth_set.writers import WRITERS as OLDER
from tests.tools.fourth_set.build import request_of
from tests.tools.sixth_set.build import WRITERS as NEWER

OFFERED = Validator(read_request(request_of(SOUND[0])).tools)
WRITERS = OLDER | {f"{family}, newer": write for family, write in NEWER.items()}
#: Read only at the end of a text, so that a second call behind it hides the first, or has no words before it.
ENDS_THE_TEXT = {
    "llama bare",
    "xlam",
    "openai",
    "tool_use",
    "react",
    "pythonic",
    "smol",
    "tool_code",
    "rwkv, newer",
}
NO_MARKUP = ENDS_THE_TEXT | {
    "cline",
    "named",
    "functionary",
    "harmony lost",
    "command fence",
    "kimi lost, newer",
    "ds3 lost, newer",
}


def read(text: str) -> list[object]:
    """Return the names and values of the valid calls that a hard leak holds."""
    found = find_leaks(text, OFFERED.names)
    calls = found[0].calls if found and found[0].hard else ()
    checks = [(call.name.removeprefix("functions."), read_call(call, OFFERED)) for call in calls]
    return [(name, check.value) for name, check in checks if check and check.valid]


@pytest.mark.parametrize("family", WRITERS)
def test_what_was_written_is_read(family: str) -> None:
    write, wrong = WRITERS[family], []
    for name, arguments in VALUES:
        if family == "cline" and not name.isidentifier():
            continue  # no tag can be named so
        text, other = write(name, arguments), write("open_file", {"path": "zz"})
        shapes = [text, f"I do that now.\n\n{text}"]
        shapes += [] if family in ENDS_THE_TEXT else [f"{text}\n{other}"]
        wrong += [shape for shape in shapes if (name, arguments) not in read(shape)]
    assert not wrong


@pytest.mark.parametrize("family", WRITERS)
def test_a_form_that_is_shown_is_no_call(family: str) -> None:
    for name, arguments in VALUES:
        text = WRITERS[family](name, arguments)
        fence = "````" if "```" in text else "```"
        for shown in (
            f"The form is this:\n\n{fence}\n{text}\n{fence}\n\nThe server reads it and runs the tool.",
            f"An example of the docs:\n{fence}xml\n{text}\n{fence}\nReplace the values by your own ones.",
            f"~~~text\n{text}\n~~~\nThat is all that the parser has to find.",
        ):
            assert not find_leaks(shown, OFFERED.names)


@pytest.mark.parametrize("family", sorted(set(WRITERS) - NO_MARKUP))
def test_what_no_parser_could_deliver_is_hard_and_not_read(family: str) -> None:
    write = WRITERS[family]
    whole = write("shell", {"cmd": "find . -name x | xargs rm"})
    for text in (
        write("web_search", {"query": "weather in Oslo"}),
        write("open_file", {"line": 3}),
        write("set_level", {"channel": "z", "level": 0.5}),
        write("open_file", {"path": "a", "line": "twelve"}),
        whole[: len(whole) * 2 // 3],
    ):
        (leak, *_) = find_leaks(f"I do that now.\n\n{text}", OFFERED.names)
        assert leak.hard and not read(text)


def test_lines_of_spaces_are_read_once() -> None:
    """A page of HTML held them, and a pattern that could read each in two ways never came to its end."""
    assert not find_leaks("<p>\n" + "    \n" * 4000 + "</p>\n", OFFERED.names)


def test_code_of_another_language_is_no_call_of_a_tool_with_the_name_of_its_word() -> None:
    assert not find_leaks(
        '  if (grep { "$node" eq "$_" } @nodes) { return 1; }\n    return;\n}\n', OFFERED.names
    )
