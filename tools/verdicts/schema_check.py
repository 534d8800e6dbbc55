"""Calls against the schemas of the tools that were offered: compiled once per tool set, reused for every reply."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jsonschema_rs

from replayer.text import similar
from replayer.tools.verdicts.arguments_markup import holds_next_call
from replayer.tools.verdicts.schema_cost import SchemaCost, TooCostly
from replayer.tools.verdicts.schema_forms import closed_form, plain_form
from replayer.tools.verdicts.schema_worker import WORKER, Effort, written
from replayer.tools.verdicts.strict_json import NotJson, parse
from replayer.tools.verdicts.verdict import Blame, Fault, FaultClass
from replayer.traces.schema import ToolSchema
from replayer.wire.types import Json, JsonObject, ToolCall

MAX_FAULTS_PER_CALL = 20
"""A call with more than that is wrong in one way, many times over."""
_LONG_VALUE = 16 << 10
"""Characters of arguments whose errors may take much memory: the library lists them all, each with what it is about."""


class CallCheck(NamedTuple):
    """What one call's name and arguments are worth. `value` is None where the arguments are no JSON."""

    faults: tuple[Fault, ...] = ()
    value: Json = None
    defect: str | None = None
    """The kind of damage where the arguments are no JSON (`strict_json.Defect`)."""

    @property
    def valid(self) -> bool:
        return not any(fault.fatal for fault in self.faults)


class _Tool:
    __slots__ = (
        "broken",
        "closed",
        "cost",
        "effort",
        "offered",
        "parameters",
        "schema",
        "strict",
        "too_costly",
    )

    def __init__(self, tool: ToolSchema, here: bool) -> None:
        self.offered = tool.parameters
        self.effort = Effort()
        parameters = tool.parameters if isinstance(tool.parameters, dict) else {}
        properties = parameters.get("properties")
        self.parameters = tuple(properties) if isinstance(properties, dict) else ()
        self.strict = bool(tool.strict)
        self.schema: jsonschema_rs.Validator | None = None
        self.closed: jsonschema_rs.Validator | None = None
        self.cost: SchemaCost | None = None
        self.too_costly: str | None = None
        self.broken: str | None = None
        try:
            if not here:
                self.effort = Effort.of(parameters)
                if self.effort.large:
                    return
            plain = plain_form(parameters)
            self.cost = SchemaCost(plain)
            self.schema = compile_schema(plain)
            closed = closed_form(parameters)
            self.closed = compile_schema(closed) if closed is not None else None
        except (ValueError, RecursionError) as error:
            self.cost = None
            self.too_costly = str(error) if isinstance(error, TooCostly) else None
            self.broken = str(error).partition("\n")[0]

    def accepts(self, value: object) -> bool:
        """Whether nothing is wrong with the value, unexpected keys included."""
        strictest = self.closed or self.schema
        return strictest is None or strictest.is_valid(value)

    def asked(self, arguments: str, call_index: int | None) -> list[Fault] | None:
        """The faults of arguments as the worker finds them; None where it was ended before it could."""
        rows = WORKER.ask("call", written(self.offered), arguments, self.strict, call_index)
        return None if rows is None else [Fault(*row) for row in rows]


TOO_LARGE = "it takes too many checks for a value of this size and depth"


def unusable_schema(message: str, call_index: int | None = None) -> Fault:
    """The schema that came with the request cannot be checked against in any time."""
    return Fault("unusable_schema", "input", f"not checked against its schema: {message}", False, call_index)


def compile_schema(schema: Json) -> jsonschema_rs.Validator:
    """Compiled under the draft it names, else the newest; OpenAPI 3.0 means draft 4 and does not say so."""
    # `offline`: a schema from a trace must not make this process fetch anything. `mask`: messages are for people,
    # and a rejected value may be a whole file.
    options: JsonObject = {"validate_formats": True, "offline": True, "mask": "the value"}
    try:
        return jsonschema_rs.validator_for(schema, **options)
    except ValueError as error:
        unnamed = {key: value for key, value in schema.items() if key != "$schema"}
        for draft in (jsonschema_rs.Draft202012Validator, jsonschema_rs.Draft4Validator):
            with contextlib.suppress(ValueError):
                return draft(unnamed, **options)
        raise error


class Validator:
    """Judges single calls: name, strict JSON, schema.

    `unusable` names the offered tools whose schema is itself broken, with the reason; calls of those are only held
    to being JSON objects.
    """

    def __init__(self, tools: Sequence[ToolSchema], *, here: bool = False) -> None:
        """`here`: all is checked in this process, however long it takes."""
        self._here = here
        self._tools = {tool.name: _Tool(tool, here) for tool in tools}
        self.names: frozenset[str] = frozenset(self._tools)
        self.unusable: dict[str, str] = {n: t.broken for n, t in self._tools.items() if t.broken}

    def check_call(self, call: ToolCall, call_index: int | None = None) -> CallCheck:
        """As `check`; the arguments of a freeform call are text, of which only the tool can say whether it is sound."""
        if not call.freeform:
            return self.check(call.name, call.arguments, call_index)
        named = () if call.name in self._tools else tuple(self._name_faults(call.name, call_index))
        return CallCheck(named, call.arguments)

    def parameters(self, name: str | None) -> tuple[str, ...]:
        """The parameters that a tool's schema names at its top."""
        tool = self._tools.get(name) if name else None
        return tool.parameters if tool else ()

    def check(self, name: str | None, arguments: str, call_index: int | None = None) -> CallCheck:
        """The faults of one call; raises nothing, whatever the arguments are.

        Blame for arguments that are no JSON is `unknown`: one exchange cannot tell the model from the parser,
        unless pieces of call markup stand in them.
        """
        tool = self._tools.get(name) if name else None
        named = () if tool else tuple(self._name_faults(name, call_index))
        try:
            value = parse(arguments)
        except NotJson as error:
            return self._not_json(error, tool, named, arguments, call_index)
        if not isinstance(value, dict):
            return CallCheck((*named, _not_object(value, call_index)), value)
        if tool is None:
            return CallCheck(named, value)
        if tool.effort.is_long(len(arguments)):
            found = tool.asked(arguments, call_index)
            return CallCheck(
                (unusable_schema(TOO_LARGE, call_index),) if found is None else tuple(found), value
            )
        if tool.cost is None or not tool.cost.allows(value, len(arguments)):
            costly = tool.too_costly if tool.cost is None else TOO_LARGE
            return CallCheck((unusable_schema(costly, call_index),) if costly else (), value)
        if tool.accepts(value):
            return CallCheck((), value)
        if self._here or len(arguments) <= _LONG_VALUE:
            return CallCheck(tuple(_schema_faults(tool, value, call_index)), value)
        found = tool.asked(arguments, call_index)
        return CallCheck(tuple(_first_faults(tool, value, call_index) if found is None else found), value)

    def _name_faults(self, name: str | None, call_index: int | None) -> Iterator[Fault]:
        if not name:
            yield Fault("protocol", "engine", "a call without a name", True, call_index)
        else:
            near = nearest(name, self.names)
            hint = f"; nearest is {near!r}" if near else ""
            offered = "no tool of that name was offered" if self._tools else "no tools were offered"
            blame: Blame = (
                "parser" if re.search(r"[<|>｜{}()\[\]\n]", name) else "model"
            )  # markup the parser let through
            yield Fault("unknown_tool", blame, f"{_short(name)}: {offered}{hint}", True, call_index)

    def _not_json(
        self, error: NotJson, tool: _Tool | None, named: tuple[Fault, ...], text: str, call_index: int | None
    ) -> CallCheck:
        if error.defect == "empty" and tool and (tool.schema is None or tool.schema.is_valid({})):
            note = "the arguments are empty where {} is due; the tool needs none"
            return CallCheck((Fault("protocol", "engine", note, False, call_index),), {}, "empty")
        blame: Blame = "parser" if error.defect != "incomplete" and holds_next_call(text) else "unknown"
        fault = Fault("arguments_not_json", blame, f"arguments are not JSON: {error}", True, call_index)
        return CallCheck((*named, fault), None, error.defect)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant: the same but for case or a `functions.` prefix, or with something
    hung on to it, else a similar one."""
    known = sorted(known)
    plain = {_bare(other): other for other in known}
    if (found := plain.get(_bare(name))) is not None:
        return found
    begun = [other for other in known if name.startswith(other)]
    if begun:
        return max(begun, key=len)
    found = similar(_bare(name[:128]), plain)
    return plain[found] if found else None


def _bare(name: str) -> str:
    return name.rpartition(".")[2].partition(":")[0].replace("-", "_").strip().lower()


def _not_object(value: object, call_index: int | None) -> Fault:
    message = f"arguments are {kind_of(value)}, not an object"
    if isinstance(value, str):
        with contextlib.suppress(NotJson):
            message += " (an object encoded twice)" if isinstance(parse(value), dict) else ""
    return Fault("arguments_not_object", "model", message, True, call_index)


def kind_of(value: object) -> str:
    """The JSON type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", list: "an array", dict: "an object", int: "an integer", float: "a number"}
    return names.get(type(value), "a number")


def _first_faults(tool: _Tool, value: JsonObject, call_index: int | None) -> Iterator[Fault]:
    """Of a value whose errors are too many to be listed: the first one's."""
    for schema in filter(None, (tool.schema, tool.closed)):
        try:
            schema.validate(value)
        except jsonschema_rs.ValidationError as error:
            if schema is tool.schema:
                yield from _faults_of(error, value, tool, call_index)
            elif type(error.kind).__name__ == "AdditionalProperties":
                yield from _unexpected(error, tool, call_index, fatal=tool.strict)
            return


def as_row(fault: Fault) -> Json:
    """A fault as the worker sends it."""
    return [fault.klass, fault.blame, fault.message, fault.fatal, fault.call_index, fault.path]


def _schema_faults(tool: _Tool, value: JsonObject, call_index: int | None) -> list[Fault]:
    found: list[Fault] = []
    if tool.schema is not None and not tool.schema.is_valid(value):
        for error in tool.schema.iter_errors(value):
            found += _faults_of(error, value, tool, call_index)
            if len(found) >= MAX_FAULTS_PER_CALL:
                return found
    if tool.closed is not None and not tool.closed.is_valid(value):
        known = {fault.path for fault in found}
        for error in tool.closed.iter_errors(value):
            if type(error.kind).__name__ == "AdditionalProperties":
                unexpected = _unexpected(error, tool, call_index, fatal=tool.strict)
                found += [fault for fault in unexpected if fault.path not in known]
    return found


def _faults_of(error: Any, value: Json, tool: _Tool, call_index: int | None) -> Iterator[Fault]:
    """One error of the schema library as faults of ours."""
    kind = type(error.kind).__name__
    path = list(error.instance_path)
    if kind == "Required":
        key = str(error.kind.property)
        where = f" in {pointer(path)}" if path else ""
        message = f"{_short(key)} is missing{where}"
        yield Fault("missing_parameter", "model", message, True, call_index, pointer([*path, key]))
    elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
        yield from _unexpected(error, tool, call_index, fatal=True)
    elif kind in ("AnyOf", "OneOfNotValid") and (branch := _best_branch(error)):
        for inner in branch:
            yield from _faults_of(inner, value, tool, call_index)
    else:
        yield _value_fault(kind, error, path, value, call_index)


_CLASS_OF_KIND: dict[str, FaultClass] = {
    "Type": "wrong_type",
    "FalseSchema": "unexpected_parameter",
    "PropertyNames": "unexpected_parameter",
}


def _value_fault(kind: str, error: Any, path: list[Json], value: Json, call_index: int | None) -> Fault:
    klass = _CLASS_OF_KIND.get(kind, "bad_value")
    where = pointer(path) or "the arguments"
    if kind == "Type":
        message = f"{where} is {kind_of(_at(value, path))}, {' or '.join(error.kind.types)} is wanted"
    elif kind in ("AnyOf", "OneOfNotValid"):
        klass = "wrong_type"
        wanted = [t for branch in error.kind.context for e in branch for t in getattr(e.kind, "types", ())]
        message = f"{where} is {kind_of(_at(value, path))}, {' or '.join(wanted) or 'another type'} is wanted"
    else:
        message = f"{where}: {_short(error.message, quote=False)}"
    return Fault(klass, "model", message, True, call_index, pointer(path))


def _best_branch(error: Any) -> list[Json] | None:
    """The errors of the alternative that was most likely meant; None where the type fits no alternative.

    That is the one whose type fits, then the one whose constants fit (`{"type": {"const": …}}` tells alternatives
    apart), then the one with the fewest errors.
    """
    depth = len(error.instance_path)

    def rank(branch: list[Json]) -> tuple[bool, int, int]:
        kinds = [type(inner.kind).__name__ for inner in branch]
        at_root = any(
            k == "Type" and len(inner.instance_path) == depth for k, inner in zip(kinds, branch, strict=True)
        )
        return at_root, sum(k in ("Constant", "Enum") for k in kinds), len(branch)

    branches = [branch for branch in error.kind.context if branch]
    if not branches:
        return None
    best = min(branches, key=rank)
    return None if rank(best)[0] else best


def _unexpected(error: Any, tool: _Tool, call_index: int | None, *, fatal: bool) -> Iterator[Fault]:
    path = list(error.instance_path)
    for key in error.kind.unexpected[:MAX_FAULTS_PER_CALL]:
        near = nearest(key, tool.parameters) if not path else None
        hint = f"; nearest is {near!r}" if near else ""
        message = f"{_short(key)} is not a parameter{f' of {pointer(path)}' if path else ''}{hint}"
        yield Fault("unexpected_parameter", "model", message, fatal, call_index, pointer([*path, key]))


def _at(value: Json, path: list[Json]) -> Json:
    for turn in path:
        value = value[turn]
    return value


def pointer(path: Iterable[object]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(turn).replace("~", "~0").replace("/", "~1") for turn in path)


def _short(text: str, limit: int = 120, *, quote: bool = True) -> str:
    text = text if len(text) <= limit else text[:limit] + "…"
    return repr(text) if quote else "".join(c if c.isprintable() else "�" for c in text)
