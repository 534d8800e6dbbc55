"""Structured answers: held to the schema that the request asked for, strictly."""

import pytest

from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.structured import problem, schema_of
from replayer.wire.types import Reply, Timing
from tests.tools.exchanges import judged

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
    "required": ["title", "n"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"title": "a", "n": 1}', None),
        ('  {"n": 2, "title": ""}\n', None),
        ('Sure: {"title": "a", "n": 1}', "not JSON"),
        ('```json\n{"title": "a", "n": 1}\n```', "not JSON"),
        ('{"title": "a"}', "required"),
        ('{"title": "a", "n": 0}', "at /n"),
        ('{"title": "a", "n": 1, "m": 2}', "m"),
        ('[{"title": "a", "n": 1}]', "object"),
        ('{"title": "a", "title": "b", "n": 1}', "not JSON"),
    ],
)
def test_an_answer_is_held_to_its_schema(answer: str, told: str | None) -> None:
    said = problem(answer, SCHEMA)
    assert said is None if told is None else said is not None and told in said


def test_the_forms_of_response_format() -> None:
    assert schema_of(FORM) == SCHEMA
    assert schema_of({"type": "json_object"}) == {"type": "object"}
    assert schema_of({"type": "text"}) is None
    assert schema_of("json") is None
    assert problem("{}", {"type": 3}) is None, "a broken schema holds nothing to account"


@pytest.mark.parametrize(
    ("content", "finish", "valid", "faults"),
    [
        ('{"title": "a", "n": 1}', "stop", True, []),
        ('{"title": "a"}', "stop", False, ["breaks_schema"]),
        ('{"title": "a', "length", False, ["truncated"]),
        ("", "stop", None, ["empty_turn"]),
    ],
)
def test_the_verdict_on_a_structured_answer(
    content: str, finish: str, valid: bool | None, faults: list[str]
) -> None:
    reply = Reply(
        Timing(sent=0, headers=1, first_token=1, ended=1), content=content, finish_reason=finish, done=True
    )
    verdict = judged(reply, Validator(()), response_format=FORM)
    assert verdict.schema_valid is valid
    assert [fault.klass for fault in verdict.faults] == faults
