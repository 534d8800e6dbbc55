"""The flags that a plan's keys have on the command line, made from the plan's own fields."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from replayer.errors import PlanError
from replayer.plan.load_shape import Flag
from replayer.plan.model import Plan
from replayer.wire.types import JsonObject


class _PlanFlag(NamedTuple):
    path: tuple[str, ...]
    """Where the value stands in the plan."""
    kind: object
    flag: Flag

    @property
    def name(self) -> str:
        return self.flag.name or "--" + self.path[-1].replace("_", "-")

    def dest(self, where: str) -> str:
        return ".".join((where, *self.path))


def add_plan_flags(parser: argparse.ArgumentParser) -> None:
    """One group of flags for each group of a plan's keys."""
    for part in reversed(Plan.__bases__):
        add_flags(parser, part, _PLAN)


def add_flags(parser: argparse.ArgumentParser, part: type[BaseModel], where: str) -> None:
    """The flags of a group of keys, under its first sentence. `where` tells its values from others'."""
    group = parser.add_argument_group((part.__doc__ or "").rstrip("."))
    for one in _flags(part):
        group.add_argument(one.name, dest=one.dest(where), default=None, help=one.flag.help, **_shape(one))


def plan_values(args: argparse.Namespace) -> JsonObject:
    """The values that were given, by key; `limits.lag_ms` is a table in a table. Raises PlanError."""
    return flag_values(args, Plan, _PLAN)


def flag_values(args: argparse.Namespace, model: type[BaseModel], where: str) -> JsonObject:
    values: JsonObject = {}
    for one in _flags(model):
        given = getattr(args, one.dest(where))
        if given is None:
            continue
        table = values
        for part in one.path[:-1]:
            table = table.setdefault(part, {})
        table[one.path[-1]] = _pairs(one.name, given) if get_origin(one.kind) is dict else given
    return values


_PLAN = "plan"


def _flags(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[_PlanFlag]:
    for name, field in model.model_fields.items():
        here = (*path, name)
        yield from (_PlanFlag(here, _kind(field), flag) for flag in field.metadata if isinstance(flag, Flag))
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _flags(field.annotation, here)


def _kind(field: FieldInfo) -> object:
    """The type of a field without its `| None`."""
    kind: object = field.annotation
    if get_origin(kind) in (UnionType, Union):  # the second is what Literal makes of `|`
        kind = next(part for part in get_args(kind) if part is not type(None))
    return kind


def _shape(one: _PlanFlag) -> JsonObject:
    """What argparse is to make of it."""
    if one.kind is bool:
        return {"action": "store_true"}
    if get_origin(one.kind) is Literal:
        return {"choices": list(get_args(one.kind))}
    if get_origin(one.kind) in (tuple, dict):
        return {"action": "append", "metavar": one.flag.metavar}
    return {"type": one.kind, "metavar": one.flag.metavar}


def _pairs(name: str, given: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        left, equals, right = text.partition("=")
        if not equals or not left or not right:
            raise PlanError(f"{name} {text!r} is not OLD=NEW, for example {name} /home/me/project=/workspace")
        pairs[left] = right
    return pairs
