"""Strict parsing: what a strict client refuses, and the name of the damage."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.tools.verdicts.strict_json import NotJson, is_beginning, parse

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(values, st.booleans())
def test_json_is_read(value: object, ascii_only: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only)) == value


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=3), values, min_size=1, max_size=3), st.data())
def test_every_beginning_of_an_object_is_known_for_one(value: object, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert is_beginning(cut)
    with pytest.raises(NotJson) as caught:
        parse(cut)
    assert caught.value.defect == "incomplete"


@pytest.mark.parametrize(
    ("text", "defect"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ('{"a": 1', "incomplete"),
        ('{"a": "b\\', "incomplete"),
        ('"a": 1}', "missing_start"),
        ('{"a": 1}{"b": 2}', "concatenated"),
        ('{"a": 1}</tool_call>', "trailing_text"),
        ('{"a": 1}}', "trailing_text"),
        ('{"a": 1, "a": 2}', "duplicate_key"),
        ('{"a": {"b": 1, "b": 1}}', "duplicate_key"),
        ('{"a": NaN}', "not_a_number"),
        ('{"a": -Infinity}', "not_a_number"),
        ('{"a": "\\ud800"}', "lone_surrogate"),
        ('{"a": "\ud800"}', "lone_surrogate"),
        ("[" * 100_000, "too_deep"),
        ('{"a":' * 600 + "1" + "}" * 600, "too_deep"),
        ('{"a": "x\ny"}', "raw_control"),
        ('{"a": 1,}', "trailing_comma"),
        ("[1, 2,]", "trailing_comma"),
        ("{'a': 1}", "single_quotes"),
        ('{"a": True}', "python_literal"),
        ("{a: 1}", "unquoted_key"),
        ('{"command": "ls "oops" }', "other"),
        ('{"a": 01}', "other"),
        ("\ufeff{}", "other"),
    ],
)
def test_damage_is_named(text: str, defect: str) -> None:
    with pytest.raises(NotJson) as caught:
        parse(text)
    assert caught.value.defect == defect
    assert len(str(caught.value)) < 200


def test_depth_and_length_that_are_legal_are_read() -> None:
    assert parse("[" * 300 + "]" * 300) == json.loads("[" * 300 + "]" * 300)
    assert isinstance(parse('{"a": ' + "9" * 10_000 + "}")["a"], int)
    assert parse(' {"a":\t1.0}\r\n') == {"a": 1.0}


def test_what_is_deeper_than_the_fast_parser_follows_is_read_on_every_python() -> None:
    value = parse('{"a":' * 400 + "1" + "}" * 400)
    for _ in range(400):
        assert isinstance(value, dict)
        value = value["a"]
    assert value == 1
