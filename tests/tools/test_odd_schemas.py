"""Schemas that are broken, of other dialects, or blow up: each costs its own tool only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replayer.tools.verdicts.schema_check import Validator
from replayer.wire.types import Reply
from tests.tools.calls import NOW, Schema, call, of_value, reply, tool
from tests.tools.exchanges import judged


def test_a_broken_schema_spoils_only_its_own_tool() -> None:
    validator = Validator(
        [tool({"type": "nosuch"}, "bad"), tool({"$ref": "http://127.0.0.1:9/x"}, "remote"), tool({})]
    )
    assert set(validator.unusable) == {"bad", "remote"}
    assert judged(reply(call('{"x": 1}', "bad")), validator).usable
    assert not judged(reply(call("[]", "bad")), validator).usable


@pytest.mark.parametrize(
    "schema",
    [
        {
            "$schema": "https://nowhere/schema",
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}},
        },
        {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}},
        {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1, "enum": None}},
            "required": None,
        },
    ],
)
def test_schemas_of_other_dialects_are_used(schema: Schema) -> None:
    validator = Validator([tool(schema)])
    assert validator.unusable == {}
    assert validator.check("t", '{"n": 1}').valid and not validator.check("t", '{"n": 0}').valid


BOMB = {
    "$ref": "#/$defs/d0",
    "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(12)}
    | {"d12": {"type": "object"}},
}
DEEP_BOMB = {
    "$ref": "#/$defs/d0",
    "$defs": {
        f"d{n}": {"properties": {"a": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8}}} for n in range(12)
    }
    | {"d12": {"type": "object"}},
}
LOOP = {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
REPEATED_PATTERN = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
TREE: Schema = {"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "integer"}}}


def nested(depth: int) -> dict[str, Any]:
    return {"a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize("schema", [BOMB, DEEP_BOMB, LOOP], ids=["flat", "deep", "loop"])
def test_a_schema_that_blows_up_is_the_input_s_fault(schema: Schema) -> None:
    (fault,) = of_value(schema, nested(11)).faults
    assert (fault.klass, fault.blame, fault.fatal) == ("unusable_schema", "input", False)
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = Reply(NOW, json.dumps(nested(11)), finish_reason="stop", done=True)
    verdict = judged(answer, Validator(()), response_format=form)
    assert [fault.klass for fault in verdict.faults] == ["unusable_schema"] and verdict.schema_valid is None


def test_schemas_that_only_look_dangerous_are_used() -> None:
    tree: dict[str, Any] = {"kids": [{"n": 1, "kids": [{"n": "x"}]}]}
    assert [fault.path for fault in of_value(TREE, tree).faults] == ["/kids/0/kids/0/n"]
    assert of_value(DEEP_BOMB, {"a": {}}).faults == ()
    assert not of_value(REPEATED_PATTERN, {"a": "a" * 40 + "!"}).usable
