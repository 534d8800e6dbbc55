"""Tool schemas as Zed sends them to OpenAI-compatible servers: the part of JSON Schema that OpenAPI 3.0 has.

After `adapt_schema_to_format` of Zed as of 2026 (crate language_model), order of keys included: what is taken out of
an object leaves its place to the object's last key.
"""

from __future__ import annotations

import copy

from replayer.wire.types import Json, JsonObject

Schema = JsonObject

_ROOT_ONLY = ("$schema", "title", "description")
_UNSUPPORTED: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    ("format", str),
    ("additionalProperties", object),
    ("propertyNames", object),
    ("exclusiveMinimum", (int, float)),
    ("exclusiveMaximum", (int, float)),
    ("optional", bool),
)


def subset(schema: Schema) -> Schema:
    """A changed copy: references inlined, no lists of types, `oneOf` as `anyOf`, null as `nullable`."""
    root = copy.deepcopy(schema)
    for key in _ROOT_ONLY:
        _take(root, key)
    definitions = {
        f"#/{place}/{name}": value
        for place in ("$defs", "definitions")
        for name, value in (_take(root, place) or {}).items()
    }
    adapted: Schema = _adapted(_inlined(root, definitions, ()))
    return adapted


def _take(schema: Schema, key: str) -> Json:
    """Removes a key and returns its value, None where there is none."""
    if key not in schema:
        return None
    items = list(schema.items())
    place = list(schema).index(key)
    last = items.pop()
    if place < len(items):
        items[place] = last
    value = schema[key]
    schema.clear()
    schema.update(items)
    return value


def _inlined(value: Json, definitions: Schema, within: tuple[str, ...]) -> Json:
    if isinstance(value, list):
        return [_inlined(part, definitions, within) for part in value]
    if not isinstance(value, dict):
        return value
    name = value.get("$ref")
    if not isinstance(name, str) or name not in definitions:
        return {key: _inlined(part, definitions, within) for key, part in value.items()}
    if name in within:  # a tree of itself ends here
        return {}
    beside = {key: part for key, part in value.items() if key != "$ref"}
    return _inlined({**definitions[name], **beside}, definitions, (*within, name))


def _adapted(value: Json) -> Json:
    if isinstance(value, list):
        return [_adapted(part) for part in value]
    if not isinstance(value, dict):
        return value
    for key, kind in _UNSUPPORTED:
        if key in value and isinstance(value[key], kind):
            _take(value, key)
    _one_type(value)
    if isinstance(value.get("description"), str) and not {"type", "anyOf", "oneOf", "allOf"} & set(value):
        value["type"] = "string"
    if isinstance(value.get("oneOf"), list):
        _any_of(value, _take(value, "oneOf"))
    for key in value:
        value[key] = _adapted(value[key])
    _lift_null(value)
    return value


def _one_type(schema: Schema) -> None:
    """`null` among the types is `nullable`; several others are alternatives."""
    kinds = schema.get("type")
    if kinds == "null":
        _take(schema, "type")
        schema["nullable"] = True
    elif isinstance(kinds, list):
        left = [kind for kind in kinds if kind != "null"]
        if len(left) == 1:
            schema["type"] = left[0]
        else:
            _take(schema, "type")
        if len(left) < len(kinds):
            schema["nullable"] = True
        if len(left) > 1:
            _any_of(schema, [{"type": kind} for kind in left])


def _any_of(schema: Schema, alternatives: Json) -> None:
    """Adds a choice to those that an object has already."""
    before = _take(schema, "anyOf")
    if before is not None:
        both = [*(_take(schema, "allOf") or ()), {"anyOf": before}, {"anyOf": alternatives}]
        schema["allOf"] = both
    elif isinstance(schema.get("allOf"), list):
        schema["allOf"].append({"anyOf": alternatives})
    else:
        schema["anyOf"] = alternatives


def _lift_null(schema: Schema) -> None:
    """A choice that is only null is `nullable` of the whole; a single other one takes the choice's place."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return
    _take(schema, "anyOf")
    left = [choice for choice in choices if choice != {"nullable": True}]
    if len(left) < len(choices):
        schema["nullable"] = True
        if len(left) == 1 and isinstance(left[0], dict) and not set(left[0]) & set(schema):
            schema.update(left[0])
            return
    if left:
        schema["anyOf"] = left
