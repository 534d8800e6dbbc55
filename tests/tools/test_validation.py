"""Properties of validation: nothing crashes it, sound calls pass, a changed call is caught at its place."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from replayer.tools.verdicts.damage import damage_in
from replayer.tools.verdicts.schema_check import Validator, pointer
from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.schema import ToolCallItem
from replayer.wire.reply import assemble
from replayer.wire.types import Reply, ToolCall, WireFault
from tests.tools.calls import NOW, Schema, call, of_value, reply, tool
from tests.tools.exchanges import judged


# Schemas of the kind that tools have, each with a strategy for its valid instances.
def texts(**limits: int) -> st.SearchStrategy[str]:
    """Texts that no tokenizer or encoding has damaged."""
    return st.text(**limits).filter(lambda text: damage_in(text, lambda _: False) is None)


keys = st.text("abcxyz_/~-é", min_size=1, max_size=6)
scalars = st.sampled_from(
    [
        ({"type": "string"}, texts(max_size=12)),
        ({"type": "string", "enum": ["on", "off"]}, st.sampled_from(["on", "off"])),
        ({"type": "string", "minLength": 2}, texts(min_size=2, max_size=9)),
        ({"type": "integer"}, st.integers()),
        ({"type": "integer", "minimum": 1, "maximum": 9}, st.integers(1, 9)),
        ({"type": "number"}, st.floats(allow_nan=False, allow_infinity=False)),
        ({"type": "boolean"}, st.booleans()),
        ({"type": ["string", "null"]}, st.none() | texts(max_size=5)),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, st.none() | st.integers()),
        ({"type": "integer", "nullable": True}, st.none() | st.integers()),
    ]
)
Pair = tuple[Schema, st.SearchStrategy[Any]]


def arrays(pair: Pair) -> Pair:
    return {"type": "array", "items": pair[0]}, st.lists(pair[1], max_size=3)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    properties = draw(st.dictionaries(keys, inner, max_size=4))
    required = sorted(key for key in properties if draw(st.booleans()))
    schema: Schema = {"type": "object", "properties": {key: pair[0] for key, pair in properties.items()}}
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    instances = st.fixed_dictionaries(
        {key: properties[key][1] for key in required},
        optional={key: pair[1] for key, pair in properties.items() if key not in required},
    )
    return schema, instances


pairs = objects(st.recursive(scalars, lambda inner: inner.map(arrays) | objects(inner), max_leaves=8))


@st.composite
def schema_and_instance(draw: st.DrawFn) -> tuple[Schema, dict[str, Any]]:
    schema, instances = draw(pairs)
    return schema, draw(instances)


def places(
    schema: Schema, value: Any, path: tuple[Any, ...] = ()
) -> list[tuple[tuple[Any, ...], Schema, Any]]:
    """Every (path, schema, value) of an instance, objects and arrays entered."""
    found = [(path, schema, value)]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(schema["properties"][key], inner, (*path, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(schema["items"], inner, (*path, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    result = deepcopy(value)
    holder = result
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = new
    return result


def at(verdict: Verdict, *classes: str) -> set[str | None]:
    return {fault.path for fault in verdict.faults if fault.klass in classes and fault.fatal}


@settings(max_examples=60, deadline=None)
@given(schema_and_instance())
def test_a_call_that_fits_its_schema_passes(pair: tuple[Schema, dict[str, Any]]) -> None:
    schema, value = pair
    verdict = of_value(schema, value)
    assert verdict.usable and verdict.faults == ()


@settings(max_examples=60, deadline=None)
@given(schema_and_instance(), st.data())
def test_a_removed_required_key_is_found_at_its_path(pair: Any, data: st.DataObject) -> None:
    schema, value = pair
    spots = [
        (path, inner, key)
        for path, inner_schema, inner in places(schema, value)
        if isinstance(inner, dict)
        for key in inner_schema.get("required", ())
    ]
    assume(spots)
    path, inner, key = data.draw(st.sampled_from(spots))
    smaller = {name: kept for name, kept in inner.items() if name != key}
    verdict = of_value(schema, replaced(value, path, smaller))
    assert not verdict.usable
    assert at(verdict, "missing_parameter") == {pointer([*path, key])}


@settings(max_examples=60, deadline=None)
@given(schema_and_instance(), st.data())
def test_an_added_key_is_found_at_its_path(pair: Any, data: st.DataObject) -> None:
    schema, value = pair
    spots = [(p, s, v) for p, s, v in places(schema, value) if isinstance(v, dict)]
    path, inner_schema, inner = data.draw(st.sampled_from(spots))
    verdict = of_value(schema, replaced(value, path, {**inner, "added": 1}))
    forbidden = inner_schema.get("additionalProperties") is False
    found = [fault for fault in verdict.faults if fault.klass == "unexpected_parameter"]
    assert [(fault.path, fault.fatal) for fault in found] == [(pointer([*path, "added"]), forbidden)]
    assert verdict.usable is not forbidden
    strict = of_value(schema, replaced(value, path, {**inner, "added": 1}), strict=True)
    assert at(strict, "unexpected_parameter") == {pointer([*path, "added"])}


WRONG = st.sampled_from([None, True, 1.5, "text", [], {}, -7])


@settings(max_examples=60, deadline=None)
@given(schema_and_instance(), WRONG, st.data())
def test_a_changed_type_is_found_at_its_path(pair: Any, wrong: Any, data: st.DataObject) -> None:
    schema, value = pair
    spots = [(path, inner) for path, inner, _ in places(schema, value) if path]
    assume(spots)
    path, inner = data.draw(st.sampled_from(spots))
    bare = {key: inner[key] for key in ("type", "anyOf") if key in inner}
    assume(not jsonschema.Draft202012Validator(bare).is_valid(wrong))
    assume(not (inner.get("nullable") and wrong is None))
    verdict = of_value(schema, replaced(value, path, wrong))
    assert not verdict.usable
    assert pointer(path) in at(verdict, "wrong_type")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(pairs, st.dictionaries(keys, anything, max_size=4))
def test_the_verdict_agrees_with_another_validator(pair: Pair, value: dict[str, Any]) -> None:
    schema = json.loads(json.dumps(pair[0]).replace('"nullable": true', '"title": "x"'))
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    faults = of_value(schema, value).faults
    fatal = [
        fault for fault in faults if fault.fatal and fault.klass != "damaged_text"
    ]  # by chance it looks so
    assert (not fatal) is expected
    assert all(fault.call_index == 0 for fault in fatal)


TOOLS = Validator(
    [
        tool(
            {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}, "Bash"
        ),
        tool({"type": "object", "properties": {}}, "Status"),
    ]
)
MARKUP = st.sampled_from(
    [
        "<tool_call>",
        "</tool_call>",
        "<function=Bash>",
        "</function>",
        "<parameter=",
        "[TOOL_CALLS]",
        "<|python_tag|>",
        "<think>",
        "</think>",
        "<|channel|>",
        "to=functions.Bash",
        "<｜tool▁call▁begin｜>",
        "<invoke>",
        "```",
        "`",
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        '{"name":',
        '"arguments":',
        "Bash",
        "<arg_key>",
        "(",
        ")",
        ":",
        ",",
        "\n",
        "�",
        "𝄞",
        "\x00",
    ]
)
hostile = st.lists(MARKUP | st.text(max_size=4), max_size=30).map("".join)


@settings(max_examples=120, deadline=None)
@given(
    hostile, hostile, hostile, st.none() | hostile, st.sampled_from(["stop", "length", "tool_calls", None])
)
def test_no_text_crashes_it(
    content: str, reasoning: str, arguments: str, name: str | None, finish_reason: str | None
) -> None:
    calls = (ToolCall(0, None, name, arguments),) if name is not None else ()
    one = Reply(NOW, content, reasoning, calls, finish_reason, done=True)
    other = Reply(NOW, arguments, "", (call(content, "Bash"),) if name else (), "stop", done=True)
    verdict = judged(
        one, TOOLS, pair=other, token_text=reasoning, temperature=0, prompt_contains=lambda _: False
    )
    assert verdict.usable is not any(fault.fatal for fault in verdict.faults)
    judged(other, TOOLS, pair=one, token_text=content, tool_choice={"type": name})


@settings(max_examples=80, deadline=None)
@given(
    st.binary(max_size=300) | hostile.map(lambda text: text.encode("utf-8", "surrogatepass")), st.booleans()
)
def test_no_body_crashes_it(body: bytes, stream: bool) -> None:
    judged(assemble(body, stream=stream), TOOLS)
    judged(assemble(b'data: {"choices":[{"delta":' + body + b"}]}\n\n", stream=True), TOOLS)


@pytest.mark.parametrize(
    "arguments",
    [
        "[" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        '{"a": ' + "9" * 10_000 + "}",
        '{"a": 1e999}',
        "\ud800",
        "\x00",
    ],
)
def test_extreme_arguments_get_a_verdict(arguments: str) -> None:
    judged(
        reply(call(arguments, "Bash")), TOOLS, recorded=(), pair=reply(call(arguments, "Bash")), temperature=0
    )


FLOODS = [
    "\n",
    " ",
    "`a",
    "<",
    "\\",
    "a",
    "[Bash(",
    "<tool_call>",
    '<tool_call>{"name": "',
    "<function=Bash>",
    "<parameter=x>",
]
FLOODS += [
    "Bash<tool_call> is ",
    '"name": "x" ',
    '<｜DSML｜invoke name="x">',
    "Action: Bash\n",
    "<arg_key>a</arg_key>",
    "{",
]


@pytest.mark.parametrize("unit", FLOODS)
def test_a_flood_of_one_thing_does_not_stall_the_search(unit: str) -> None:
    """Collapsed replies look like this; anything worse than linear would take minutes here."""
    flood = unit * (15_000 // len(unit))
    for text in (flood, f"Bash(b={flood}x", f'{{"a": "{flood}'):
        judged(Reply(NOW, text, text, finish_reason="stop", done=True), TOOLS, token_text=text)
        judged(reply(call(text, "Bash")), TOOLS, pair=Reply(NOW, text, finish_reason="stop", done=True))


def test_a_stream_that_replayer_stopped_is_judged_for_that_alone() -> None:
    stopped = Reply(NOW, "sigh", tool_calls=(call("{", "Bash"),), stopped_by_us=True)
    verdict = judged(stopped, TOOLS, max_tokens=1, collapsed="cycle of 'sigh'")
    assert [(fault.klass, fault.message) for fault in verdict.faults] == [("collapsed", "cycle of 'sigh'")]


def test_a_full_context_is_a_cut() -> None:
    full = reply(call('{"command": "l', "Bash"), usage={"prompt_tokens": 8000, "completion_tokens": 192})
    assert [fault.klass for fault in judged(full, TOOLS, context_length=8192).faults] == ["truncated"]


@pytest.mark.parametrize(
    "choice",
    [
        1,
        [],
        {},
        {"type": "allowed_tools"},
        {"type": "allowed_tools", "allowed_tools": 1, "tools": 2},
        {"type": []},
    ],
)
def test_a_tool_choice_that_says_nothing_demands_nothing(choice: Any) -> None:
    assert judged(reply(call("{}", "Status")), TOOLS, tool_choice=choice).usable


def test_a_failed_request_has_one_fault() -> None:
    failed = Reply(NOW, fault=WireFault("timeout", "no byte for 600 s"))
    (fault,) = judged(failed, TOOLS, tool_choice="required").faults
    assert (fault.klass, fault.blame, fault.fatal) == ("engine_error", "engine", True)


def recorded_call(name: str, arguments: str) -> ToolCallItem:
    return ToolCallItem(id=0, call_id="x", name=name, arguments=arguments, parsed=json.loads(arguments))


@pytest.mark.parametrize(
    ("calls", "kinds"),
    [
        ([call('{"command":"ls"}', "Bash")], []),
        ([call('{"command":"pwd"}', "Bash")], ["other_arguments"]),
        ([call("{}", "Status")], ["other_tool"]),
        ([], ["call_absent"]),
        ([call('{"command": "ls"}', "Bash"), call("{}", "Status", 1)], ["call_unexpected"]),
    ],
)
def test_differences_from_the_recording_are_listed_apart(calls: list[ToolCall], kinds: list[str]) -> None:
    recorded = (recorded_call("Bash", '{"command": "ls"}'),)
    answer = reply(*calls, content="Done.", finish_reason="tool_calls" if calls else "stop")
    verdict = judged(answer, TOOLS, recorded=recorded)
    assert [finding.kind for finding in verdict.against_recording] == kinds
    assert verdict.usable
