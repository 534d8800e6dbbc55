"""How much work a schema makes, counted before any value is checked against it.

A schema of 2.5 KB whose definitions name each other eight times over unfolds into billions of checks, and the library
that runs them cannot be interrupted. What is counted is the number of subschemas that one value can meet.
"""

from __future__ import annotations

from collections.abc import Iterator

from replayer.tools.verdicts.strict_json import levels
from replayer.wire.types import Json, JsonObject

MOST_CHECKS = 20_000
"""Subschemas that one small value may meet. Real tools have tens, large ones some hundreds."""
MOST_WORK = 20_000_000
"""Checks times parts of the value: about a second at worst."""
_DEEP = 12
"""Levels; a schema that meets no more subschemas at this depth than MOST_CHECKS does not grow with its values."""

_SAME_VALUE = tuple(
    """
    allOf anyOf oneOf not if then else dependentSchemas dependencies extends
    """.split()
)
_INNER_VALUE = (
    "properties", "patternProperties", "additionalProperties", "items", "prefixItems", "additionalItems", "contains",
    "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema",
)  # fmt: skip
_FEW = 16
"""Values of an `enum` that cost as much as a check; a list or object among them costs as much as so many checks."""
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_STANDARD = ("http://json-schema.org/", "https://json-schema.org/")


class TooCostly(ValueError):
    """The schema would keep the validator busy for longer than anybody waits."""


class SchemaCost:
    """The cost of one schema, for any value.

    Raises TooCostly if even flat values would meet too much, if a reference leads back to itself or leads nowhere.
    """

    def __init__(self, schema: object) -> None:
        self._schema = schema
        self._counter = _Counter(schema)
        self._counter.count(schema, 1, MOST_CHECKS)
        try:
            self._checks: int | None = self._counter.count(schema, _DEEP, MOST_CHECKS)
        except TooCostly:
            self._checks = None

    def allows(self, value: object, size: int) -> bool:
        """Whether `value` can be checked in about a second; `size` is the length of its text."""
        if self._checks is not None and self._checks * size <= MOST_WORK:
            return True
        parts, depth = _extent(value)
        if self._checks is not None:
            return self._checks * parts <= MOST_WORK
        try:
            return self._counter.count(self._schema, depth, MOST_WORK) * parts <= MOST_WORK
        except (TooCostly, RecursionError):
            return False


def _extent(value: object) -> tuple[int, int]:
    """(how many values it consists of, how deep they are nested)."""
    sizes = list(map(len, levels(value)))
    return sum(sizes), len(sizes)


class _Counter:
    def __init__(self, root: object) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int | None] = {}
        self._named: JsonObject = {}
        for schema in _all_in(root):
            for key in ("$id", "id", "$anchor", "$dynamicAnchor"):
                if isinstance(name := schema.get(key), str):
                    self._named.setdefault(name.rstrip("#").rpartition("/")[2], schema)

    def count(self, schema: object, depth: int, most: int) -> int:
        """Subschemas that a value of this depth, and each value inside it, can meet at most."""
        if not isinstance(schema, dict) or depth < 0:
            return 1
        key = id(schema), depth
        if key in self._known:
            known = self._known[key]
            if known is None:
                raise TooCostly("a reference of the schema leads back to itself")
            return known
        self._known[key] = None  # being counted
        try:
            self._known[key] = total = self._sum(schema, depth, most)
        except BaseException:
            del self._known[key]
            raise
        if total > most:
            raise TooCostly(f"the schema unfolds into more than {most:,} checks of one value")
        return total

    def _sum(self, schema: JsonObject, depth: int, most: int) -> int:
        same = [self.count(one, depth, most) for one in _under(schema, _SAME_VALUE)]
        same += [self.count(one, depth, most) for one in self._targets(schema)]
        twice = 2 if any(key in schema for key in _UNEVALUATED) else 1
        inner = 0
        for key in _INNER_VALUE if depth else ():
            counts = [self.count(one, depth - 1, most) for one in _under(schema, (key,))]
            # a value has one name and one place, but may match every pattern
            inner += sum(counts) if key == "patternProperties" else max(counts, default=0)
        return 1 + twice * sum(same) + inner + _alternatives(schema.get("enum"))

    def _targets(self, schema: JsonObject) -> Iterator[Json]:
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := schema.get(key), str) and not reference.startswith(_STANDARD):
                yield self._target(reference)

    def _target(self, reference: str) -> object:
        name, _, fragment = reference.partition("#")
        target = self._named.get(name.rpartition("/")[2]) if name else self._root
        if fragment and not fragment.startswith("/"):
            target = self._named.get(fragment)
        for step in fragment.split("/")[1:] if fragment.startswith("/") else ():
            step = step.replace("~1", "/").replace("~0", "~").replace("%25", "%").replace("%22", '"')
            target = _step(target, step)
        if target is None:
            raise TooCostly(f"the schema's reference {reference[:80]!r} leads nowhere")
        return target


def _step(schema: object, step: str) -> object:
    if isinstance(schema, list):
        return schema[int(step)] if step.isdecimal() and int(step) < len(schema) else None
    return schema.get(step) if isinstance(schema, dict) else None


def _under(schema: JsonObject, keywords: tuple[str, ...]) -> Iterator[Json]:
    """The subschemas under these keywords: one, a list, or by name."""
    for key in keywords:
        value = schema.get(key)
        if isinstance(value, list):
            yield from value
        elif isinstance(value, dict):
            named = key in ("properties", "patternProperties", "dependentSchemas", "dependencies")
            yield from value.values() if named else (value,)


def _alternatives(values: object) -> int:
    """What looking for a value among many is worth: words are found quickly, lists and objects are compared."""
    if not isinstance(values, list) or len(values) < _FEW:
        return 0
    return len(values) // _FEW + sum(isinstance(value, (dict, list)) for value in values) * _FEW


def _all_in(schema: object) -> Iterator[JsonObject]:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
