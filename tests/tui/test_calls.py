"""Calls as people write them, whatever agent's tools they are of."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.tui.calls import call_text, line_style, parsed, same_call, summary, tinted


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"command": "pytest -q", "cd": "app"}, "$ pytest -q  in app"),
        ({"command": ["bash", "-lc", "ls -R"], "workdir": "/w"}, "$ ls -R  in /w"),
        ({"command": ["git", "commit", "-m", "a b"]}, "$ git commit -m 'a b'"),
        ({"cmd": "make", "tty": True}, "$ make  tty=true"),
        ({"path": "a.py", "edits": [{"old_text": "x\ny", "new_text": "x\nz\nw"}]}, "a.py  −1 +2"),
        ({"file_path": "a.py", "old_string": "x", "new_string": ""}, "a.py  −1"),
        (
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
            "a.py  −1 +1  command=str_replace",
        ),
        ({"file_path": "a.py", "old_string": "x", "new_string": "x"}, "a.py  ±0"),
        ({"file_path": "new.py", "content": "a\nb\n"}, "new.py  +2"),
        ({"input": "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch"}, "−1 +1"),
        ({"regex": "Table\\b", "include_pattern": "*.py"}, "regex=Table\\b  include_pattern=*.py"),
        ({"content": "no path, no file"}, "content=no path, no file"),
    ],
)
def test_a_call_in_one_line(arguments: dict[str, object], line: str) -> None:
    assert summary(arguments, json.dumps(arguments)) == line


def test_an_edit_is_a_diff() -> None:
    arguments = {"path": "a.py", "mode": "edit", "edits": [{"old_text": "a\nb\nc", "new_text": "a\nB\nc"}]}
    text = call_text("edit_file", json.dumps(arguments))
    assert text.splitlines() == ["⚒ edit_file  a.py", "  mode: edit", "  ▎  a", "  ▎− b", "  ▎+ B", "  ▎  c"]


def test_what_goes_and_what_comes_have_signs_and_colours() -> None:
    text = call_text("Edit", json.dumps({"file_path": "a", "old_string": "old", "new_string": "new"}))
    styles = {line[2:]: line_style(line) for line in text.splitlines()}
    assert styles == {"Edit  a": "", "▎− old": "$error", "▎+ new": "$success"}


def test_broken_arguments_are_shown_as_they_came() -> None:
    assert call_text("Edit", '{"path": "a", }') == '⚒ Edit  {"path": "a", }'
    assert call_text("Edit", '{"a": 1, "a": 2}') == '⚒ Edit  {"a": 1, "a": 2}'
    assert call_text("Edit", None) == "⚒ Edit"


def test_white_space_makes_no_other_call() -> None:
    assert same_call("a", '{"x": 1, "y": 2}') == same_call("a", '{"y":2,"x":1}')
    assert same_call("a", '{"x": 1}') != same_call("a", '{"x": "1"}')


KEYS = st.sampled_from(["path", "command", "edits", "old_text", "new_text", "content", "cd", "input", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80)
@given(arguments=st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_arguments_can_be_told(arguments: dict[str, object]) -> None:
    raw = json.dumps(arguments)
    assert isinstance(summary(parsed(raw), raw), str)
    assert call_text("tool", raw).startswith("⚒ tool")


@pytest.mark.parametrize(
    "raw", ['{"a":' + "[" * 900 + "]" * 900 + "}", '{"a":' + "9" * 5000 + "}", '{"a":"\\ud800"}']
)
def test_numbers_and_depths_beyond_python_are_told(raw: str) -> None:
    assert call_text("tool", raw).startswith("⚒ tool")


@settings(max_examples=40)
@given(
    pieces=st.lists(
        st.tuples(st.text(alphabet="ab▎−+ \n", max_size=8), st.sampled_from(["", "bold"])), max_size=6
    )
)
def test_colours_lose_no_text(pieces: list[tuple[str, str]]) -> None:
    told = list(tinted(pieces))
    assert "".join(text for text, _ in told) == "".join(text for text, _ in pieces)
