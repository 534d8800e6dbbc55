"""Schemas and plans made at random, hostile ones among them: no traceback, no hang, bounded memory.

`REPLAYER_MUTATIONS` is how many of each are made.
"""

import os
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import PlanError
from replayer.plan.load import load_plan, make_plan
from replayer.plan.shipped import shipped
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.wire.types import ToolCall
from tests.traces.test_mutated_files import MOST_GROWTH, MUTATIONS, ends

COUNT = int(os.environ.get("REPLAYER_MUTATIONS", "300"))
Schema = dict[str, Any]
PATTERNS = [
    "(a+)+$",
    "(x|x)*y",
    "(.*)*",
    "[",
    "(?=a)*",
    "\\p{L}{1000}",
    "a{1,100000}",
    "(((a{9}){9}){9}){9}",
    "^(?!x).*$",
]


def grown(rng: random.Random, depth: int) -> Any:
    """A schema of any keywords: nested, referring to itself and to others, with patterns that explode."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([True, False, {}, {"type": "string"}, {"type": ["null", 7]}, None, 3, "x"])
    inner: Callable[[], Any] = lambda: grown(rng, depth - 1)  # noqa: E731
    names = [f"d{n}" for n in range(12)]
    schema: Schema = {}
    for _ in range(rng.randint(1, 4)):
        key = rng.choice(["properties", "allOf", "anyOf", "oneOf", "not", "items", "$ref", "$defs", "pattern", "enum", "if",
                          "patternProperties", "additionalProperties", "type", "minimum", "multipleOf", "format", "$id",
                          "unevaluatedProperties", "dependentSchemas", "const", "contains", "propertyNames", "$dynamicRef",
                          "minLength", "required", "uniqueItems", "prefixItems", "$schema", "$anchor"])  # fmt: skip
        schema[key] = value_of(key, inner, rng, names)
    return schema


def value_of(key: str, inner: Callable[[], Any], rng: random.Random, names: list[str]) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "properties": lambda: {rng.choice("abcdef"): inner() for _ in range(rng.randint(0, 4))},
        "$defs": lambda: {name: inner() for name in names[: rng.randint(0, 12)]},
        "dependentSchemas": lambda: {"a": inner()},
        "patternProperties": lambda: {rng.choice(PATTERNS): inner()},
        "$ref": lambda: rng.choice(
            [
                "#",
                "#/$defs/d0",
                "#/$defs/d1",
                "#/properties/a",
                "#/nowhere",
                "http://127.0.0.1:1/x",
                "file:///etc/passwd",
                "%",
                5,
            ]
        ),
        "$dynamicRef": lambda: rng.choice(["#", "#x", "#/$defs/d0"]),
        "$anchor": lambda: "x",
        "$id": lambda: rng.choice(["http://x/y", "#", "d0", ""]),
        "$schema": lambda: rng.choice(["http://json-schema.org/draft-07/schema#", "http://nowhere/", "x"]),
        "pattern": lambda: rng.choice(PATTERNS),
        "format": lambda: rng.choice(["regex", "date-time", "email", "uri", "idn-hostname", "x"]),
        "enum": lambda: [rng.choice([1, "a", None, {}])] * rng.randint(0, 3),
        "type": lambda: rng.choice(["object", "array", "string", "x", ["string", "null"]]),
        "minimum": lambda: rng.choice([0, 1e308, -1e308, 10**400, "x"]),
        "multipleOf": lambda: rng.choice([0, 1e-300, 3, -1]),
        "minLength": lambda: rng.choice([0, 10**18, -1, 1.5]),
        "required": lambda: rng.choice([["a"], ["a", "a"], "a", [1]]),
        "uniqueItems": lambda: True,
        "const": lambda: rng.choice([1, {}, [1]]),
    }
    if key in ("allOf", "anyOf", "oneOf", "prefixItems"):
        return [inner() for _ in range(rng.randint(1, 8))]
    return made.get(key, inner)()


def doubling(rng: random.Random) -> Schema:
    """Definitions that name each other several times over: the size unfolds with a power of their number."""
    levels, width = rng.randint(2, 14), rng.randint(1, 8)
    word = rng.choice(["allOf", "anyOf", "oneOf", "prefixItems"])
    chain = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * width} for n in range(levels)}
    return {
        "$defs": {**chain, f"d{levels}": {"type": rng.choice(["object", "string"])}},
        "$ref": "#/$defs/d0",
    }


def check(schema: object, arguments: str) -> tuple[str, ...]:
    tool = {"type": "function", "function": {"name": "t", "parameters": schema}}
    validator = Validator(read_request({"model": "m", "messages": [], "tools": [tool]}).tools)
    found = validator.check_call(ToolCall(index=0, id="c", name="t", arguments=arguments))
    return tuple(fault.klass for fault in found.faults)


def property_a(**schema: object) -> Schema:
    return {"type": "object", "properties": {"a": schema}}


def listed(*values: object) -> str:
    return orjson.dumps({"a": values}).decode()


NUMBERS = listed(*range(300_000))
HOSTILE: dict[str, tuple[Schema, str, tuple[str, ...]]] = {
    "a look ahead": (
        property_a(pattern="(?=(a+)+$)b"),
        '{"a": "' + "a" * 30_000 + '!"}',
        ("unusable_schema",),
    ),
    "a look back": (property_a(pattern="(?<=a+)b"), '{"a": "' + "a" * 30_000 + '!"}', ("unusable_schema",)),
    "an error for each item": (property_a(items={"type": "string"}), NUMBERS, ("wrong_type",)),
    "errors of errors": (
        property_a(items={"oneOf": [{"type": "integer"}, {"type": "number"}, {"required": ["x"]}] * 10}),
        NUMBERS,
        ("bad_value",),
    ),
    "an error for each key": (
        {"propertyNames": {"pattern": "^(a+)+$"}},
        orjson.dumps({"a" * 40 + f"{n}!": 1 for n in range(5_000)}).decode(),
        ("unexpected_parameter",),
    ),
    "alternatives for each item": (
        property_a(items={"enum": [{"k": n} for n in range(3_000)]}),
        listed(*[{"k": -1}] * 20_000),
        ("unusable_schema",),
    ),
    "many names": (
        {"properties": {f"p{n}": {"type": "string"} for n in range(100_000)}},
        "{}",
        ("unusable_schema",),
    ),
    "many required": ({"required": [f"k{n}" for n in range(200_000)]}, "{}", ("unusable_schema",)),
    "different items": (property_a(uniqueItems=True), NUMBERS, ()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_count_foresees_is_checked_by_a_process_that_can_be_ended(name: str) -> None:
    schema, arguments, wanted = HOSTILE[name]
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    assert check(schema, arguments) == wanted
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert time.process_time() - began < 2  # of this process: what the other one takes, it is ended for


def test_the_worker_finds_what_this_process_does() -> None:
    keys = {"b": 1, "c": "x" * 20_000}
    schema = {**property_a(type="string"), "required": ["a"], "additionalProperties": False}
    found = check(schema, orjson.dumps(keys).decode())
    assert sorted(found) == ["missing_parameter", "unexpected_parameter", "unexpected_parameter"]
    assert check(property_a(pattern="^(?!x)"), '{"a": "x' + "y" * 2_000 + '"}') == ("bad_value",)
    assert check(property_a(pattern="^(?!x)"), '{"a": "' + "y" * 2_000 + '"}') == ()


VALUES = ["{}", '{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}', '{"a": {"a": {"a": [1, 2, {"b": null}]}}}', "[" * 60 + "]" * 60,
          '{"a": "' + "x" * 5000 + '"}', '{"a": [' + ",".join("1" * 300) + "]}"]  # fmt: skip


@pytest.mark.slow
def test_no_schema_keeps_the_validator_busy() -> None:
    rng = random.Random(9)
    before, worst = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, (0.0, b"")
    for number in range(COUNT):
        schema = doubling(rng) if number % 5 == 0 else grown(rng, rng.randint(1, 6))
        text = repr(schema).encode()
        began = time.process_time()
        with ends(text):
            tool = {"type": "function", "function": {"name": "t", "parameters": schema}}
            validator = Validator(read_request({"model": "m", "messages": [], "tools": [tool]}).tools)
            for at in range(2):
                call = ToolCall(index=0, id="c", name="t", arguments=VALUES[(number + at) % len(VALUES)])
                validator.check_call(call)
        worst = max(worst, (time.process_time() - began, text))
    report("schemas", worst, before)


@pytest.mark.slow
def test_no_plan_ends_in_a_traceback(tmp_path: Path) -> None:
    rng = random.Random(10)
    sound = [path.read_bytes() for path in shipped().values()]
    sound.append(b'traces = ["a"]\nrepeat = 2\n[[lane]]\nname = "a"\nurl = "http://127.0.0.1:1/v1"\n[lane.sampling]\n'
                 b'temperature = 0.5\n[matrix]\nsampling.temperature = [0.0, 0.7]\n[limits]\nerrors = 0.5\n')  # fmt: skip
    before, worst = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, (0.0, b"")
    path = tmp_path / "plan.toml"
    for number in range(COUNT):
        data = MUTATIONS[number % 4](rng.choice(sound), rng)
        path.write_bytes(data)
        began = time.process_time()
        with ends(data):
            try:
                make_plan(load_plan(path), str(path))
            except PlanError as error:
                assert "\n" not in str(error).strip()
        worst = max(worst, (time.process_time() - began, data))
    report("plans", worst, before)


def report(name: str, worst: tuple[float, bytes], before: int) -> None:
    grown_by = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if "REPLAYER_WORST" in os.environ:
        with open(os.environ["REPLAYER_WORST"], "ab") as file:
            file.write(
                f"{name}\t{COUNT}\t{worst[0]:.3f} s CPU\t{grown_by} KiB\t".encode()
                + orjson.dumps(worst[1][:600].decode("latin1"))
                + b"\n"
            )
    assert grown_by < MOST_GROWTH
