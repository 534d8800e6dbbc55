"""A lane becomes several: every combination of a matrix, or the same lane twice."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from pydantic import ValidationError

from replayer.errors import PlanError
from replayer.plan.model import LanePlan
from replayer.plan.problems import first_problem
from replayer.text import nearest
from replayer.wire.credentials import is_secret_field, without_login
from replayer.wire.types import JsonObject

MOST_LANES = 1000


def twice(lane: LanePlan) -> Iterator[LanePlan]:
    yield lane
    base = f"{lane.base}.again" if lane.base else None
    yield lane.model_copy(update={"name": f"{lane.name}.again", "base": base})


def expand(lane: LanePlan, matrix: dict[str, tuple[object, ...]], origin: str) -> Iterator[LanePlan]:
    """Every combination of the matrix becomes a lane; a key is a dotted path such as `sampling.temperature`.

    Paths joined with `+` take the same value. A lane that varies its load takes turns with itself.
    """
    if not matrix:
        yield lane
        return
    if secret := next((key for key in matrix if is_secret_field(_axis(key))), None):
        raise PlanError(f"{origin}: matrix: {secret} holds a secret, which cannot name lanes")
    if (count := math.prod(map(len, matrix.values()))) > MOST_LANES:
        raise PlanError(
            f"{origin}: the matrix makes {_count(count)} lanes of {lane.name!r}; at most {MOST_LANES}"
        )
    for values in itertools.product(*matrix.values()):
        setting = {_axis(key): _shown(value) for key, value in zip(matrix, values, strict=True)}
        changed = lane.model_dump()
        for key, value in zip(matrix, values, strict=True):
            for path in key.split("+"):
                _set(changed, path.removeprefix("lane."), value, origin)
        suffix = "".join(f"+{name}={value}" for name, value in setting.items())
        changed |= {
            "name": lane.name + re.sub(r"[^\w.+@=-]", "-", suffix),
            "base": lane.name,
            "setting": setting,
        }
        if "concurrency" in setting:
            changed["exclusive"] = lane.exclusive or lane.name
        try:
            yield LanePlan.model_validate(changed)
        except ValidationError as error:
            raise PlanError(f"{origin}: matrix: {first_problem(error)}") from None


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**12 else "far too many"


def _shown(value: object) -> object:
    """An address without its login."""
    return without_login(value) if isinstance(value, str) else value


def _axis(key: str) -> str:
    """The short name of a matrix key: the last word of its path, or of the first of several."""
    return key.partition("+")[0].rpartition(".")[2]


def _set(values: JsonObject, dotted: str, value: object, origin: str) -> None:
    head, _, rest = dotted.partition(".")
    if head not in LanePlan.model_fields:
        raise PlanError(
            f"{origin}: matrix key {dotted!r} is not a lane setting{nearest(head, LanePlan.model_fields)}"
        )
    if rest:
        values[head] = {**values[head], rest: value}
    else:
        values[head] = value
