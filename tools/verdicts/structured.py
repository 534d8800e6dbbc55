"""Does an answer hold to the JSON Schema that its request asked for (`response_format`)?"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from replayer.tools.verdicts.schema_check import compile_schema, pointer
from replayer.tools.verdicts.strict_json import NotJson, parse


def answer_problem(answer: str, response_format: Any) -> tuple[bool, str | None]:
    """Whether a form was asked for that can be checked, and why the answer breaks it, in words. A schema that is
    itself broken holds nothing to account. Raises nothing."""
    schema = schema_of(response_format)
    return (False, None) if schema is None else (True, problem(answer, schema))


def schema_of(response_format: Any) -> Any:
    """The JSON Schema that a `response_format` asks for; None where it asks for none, or for nothing known."""
    if not isinstance(response_format, dict):
        return None
    if response_format.get("type") == "json_object":
        return {"type": "object"}
    named = response_format.get("json_schema", response_format)  # the Responses API has no envelope
    return named.get("schema") if isinstance(named, dict) else None


def problem(answer: str, schema: Any) -> str | None:
    """Why the answer breaks the schema, in words; None where it holds."""
    validator = _compiled(orjson.dumps(schema))
    if validator is None:
        return None
    try:
        value = parse(answer)
    except NotJson as error:
        return f"the answer is not JSON: {error}"
    first = next(iter(validator.iter_errors(value)), None)
    return None if first is None else f"at {pointer(first.instance_path) or 'the top'}: {first.message}"


@lru_cache(maxsize=64)
def _compiled(schema: bytes) -> jsonschema_rs.Validator | None:
    try:
        return compile_schema(orjson.loads(schema))
    except ValueError:
        return None
