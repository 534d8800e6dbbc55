"""Does an answer hold to the JSON Schema that its request asked for (`response_format`)?"""

from __future__ import annotations

from functools import lru_cache

import jsonschema_rs
import orjson

from replayer.tools.verdicts.schema_check import TOO_LARGE, compile_schema, pointer, unusable_schema
from replayer.tools.verdicts.schema_cost import SchemaCost, TooCostly
from replayer.tools.verdicts.schema_worker import WORKER, Effort, written
from replayer.tools.verdicts.strict_json import NotJson, parse
from replayer.tools.verdicts.verdict import Fault


def check_answer(answer: str, response_format: object) -> tuple[bool | None, Fault | None]:
    """Whether the answer holds to its form, None where none was asked for that can be checked; and what is wrong. A
    schema that is itself broken holds nothing to account. Raises nothing."""
    schema = schema_of(response_format)
    if schema is None:
        return None, None
    try:
        reason = problem(answer, schema)
    except TooCostly as error:
        return None, unusable_schema(str(error))
    return reason is None, Fault("breaks_schema", "engine", reason, True) if reason else None


def schema_of(response_format: object) -> object:
    """The JSON Schema that a `response_format` asks for; None where it asks for none, or for nothing known."""
    if not isinstance(response_format, dict):
        return None
    if response_format.get("type") == "json_object":
        return {"type": "object"}
    named = response_format.get("json_schema", response_format)  # the Responses API has no envelope
    return named.get("schema") if isinstance(named, dict) else None


def problem(answer: str, schema: object, *, here: bool = False) -> str | None:
    """Why the answer breaks the schema, in words; None where it holds. `here`: in this process, however long it takes.
    Raises TooCostly."""
    if not here and Effort.of(schema).is_long(len(answer)):
        found = WORKER.ask("answer", written(schema), answer, False, None)
        if not isinstance(found, list):
            raise TooCostly(TOO_LARGE)
        return None if found[0] is None else str(found[0])
    compiled = _compiled(orjson.dumps(schema))
    if compiled is None:
        return None
    try:
        value = parse(answer)
    except NotJson as error:
        return f"the answer is not JSON: {error}"
    validator, cost = compiled
    if not cost.allows(value, len(answer)):
        raise TooCostly(TOO_LARGE)
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as first:
        return f"at {pointer(first.instance_path) or 'the top'}: {first.message}"
    return None


@lru_cache(maxsize=64)
def _compiled(schema: bytes) -> tuple[jsonschema_rs.Validator, SchemaCost] | None:
    parsed = orjson.loads(schema)
    try:
        cost = SchemaCost(parsed)
        return compile_schema(parsed), cost
    except TooCostly:
        raise
    except (ValueError, RecursionError):
        return None
