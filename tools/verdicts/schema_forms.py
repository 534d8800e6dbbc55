"""Two forms of a tool's schema: as it is meant, and closed against keys that it does not name."""

from __future__ import annotations

from collections.abc import Callable

from replayer.wire.types import Json, JsonObject

_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")

_MAY_BE_NULL = ("const", "default", "example")
"""Json other keyword that is null, as some generators write what they leave out, counts as absent."""

_CLOSABLE_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_CLOSABLE = ("items", "additionalProperties")
_SPOIL_CLOSING = frozenset(
    {"allOf", "if", "dependentSchemas", "unevaluatedProperties", "$dynamicRef", "$recursiveRef"}
)


def plain_form(schema: object) -> object:
    """The schema as JSON Schema means it: OpenAPI's `nullable`, which several agents send, becomes a null type."""
    return _walk(schema, _SCHEMA_MAPS, _SCHEMAS, _SCHEMA_LISTS, _resolve_nullable)


def closed_form(schema: object) -> Json | None:
    """The schema with `additionalProperties: false` wherever an object names its properties and says nothing of
    others, so that a hallucinated key shows. None where that would change nothing, or where other keywords can
    name properties too (`allOf` and the like) so that closing would refuse good keys.
    """
    if _mentions(schema, _SPOIL_CLOSING):
        return None
    closed = _walk(plain_form(schema), _CLOSABLE_MAPS, _CLOSABLE, ("prefixItems",), _close)
    return closed if closed != plain_form(schema) else None


def _walk(
    schema: object,
    maps: tuple[str, ...],
    singles: tuple[str, ...],
    lists: tuple[str, ...],
    change: Callable[[JsonObject], JsonObject],
) -> object:
    if not isinstance(schema, dict):
        return schema
    result = {key: value for key, value in schema.items() if value is not None or key in _MAY_BE_NULL}
    for key, value in schema.items():
        if key in maps and isinstance(value, dict):
            result[key] = {name: _walk(inner, maps, singles, lists, change) for name, inner in value.items()}
        elif key in lists and isinstance(value, list):
            result[key] = [_walk(inner, maps, singles, lists, change) for inner in value]
        elif key in singles:
            result[key] = _walk(value, maps, singles, lists, change)
    return change(result)


def _resolve_nullable(schema: JsonObject) -> JsonObject:
    if schema.get("nullable") is not True:
        return schema
    bare = {key: value for key, value in schema.items() if key != "nullable"}
    if isinstance(bare.get("type"), str) and not bare.keys() & {"enum", "const"}:
        return {**bare, "type": [bare["type"], "null"]}
    return {"anyOf": [bare, {"type": "null"}]} if bare else {}


def _close(schema: JsonObject) -> JsonObject:
    names_all = isinstance(schema.get("properties"), dict) and not (
        schema.keys()
        & {"additionalProperties", "patternProperties", "anyOf", "oneOf", "$ref", "propertyNames"}
    )
    return {**schema, "additionalProperties": False} if names_all else schema


def _mentions(schema: object, keywords: frozenset[str]) -> bool:
    if isinstance(schema, dict):
        return bool(keywords & schema.keys()) or any(_mentions(value, keywords) for value in schema.values())
    return isinstance(schema, list) and any(_mentions(value, keywords) for value in schema)
