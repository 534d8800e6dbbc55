"""A plan from a file or from values: checked, its matrix and its A/A lanes expanded."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError

from replayer.errors import PlanError
from replayer.plan.limits import Limits, Slo
from replayer.plan.load_shape import LoadShape
from replayer.plan.model import LanePlan, Plan
from replayer.requests.workload import Workload
from replayer.text import nearest
from replayer.wire.credentials import is_secret_field, without_login
from replayer.wire.types import WIRES, JsonObject

_DEEPEST = 64


def load_plan(path: Path) -> JsonObject:
    """Read a plan file (TOML). Raises PlanError naming the file and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"plan file {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"plan file {path} cannot be read: {error}") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"plan file {path} is not valid TOML: {error}") from None
    except RecursionError:
        raise PlanError(f"plan file {path} is nested too deep") from None


def make_plan(values: JsonObject, origin: str = "the plan") -> Plan:
    """Check a plan's values, expand its matrix and its A/A lanes. Raises PlanError with one sentence."""
    if _deep(values):
        raise PlanError(f"{origin} is nested more than {_DEEPEST} tables deep")
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        raise PlanError(f"{origin}: {first_problem(error)}") from None
    lanes = tuple(itertools.chain.from_iterable(expand(lane, plan.matrix, origin) for lane in plan.lane))
    lanes = tuple(itertools.chain.from_iterable(_over(lane, plan.wire, origin) for lane in lanes))
    if plan.aa:
        lanes = tuple(itertools.chain.from_iterable(twice(lane) for lane in lanes))
    return make_plan_unexpanded(plan, lanes, origin)


def _deep(values: object) -> bool:
    """Level by level: what is nested too deep cannot be walked by functions that call themselves."""
    level = [values]
    for _ in range(_DEEPEST):
        inner = (
            one.values() if isinstance(one, dict) else one
            for one in level
            if isinstance(one, dict | list | tuple)
        )
        level = list(itertools.chain.from_iterable(inner))
        if not level:
            return False
    return True


def _over(lane: LanePlan, wire: str | None, origin: str) -> Iterator[LanePlan]:
    """The lane over the plan's wire, or once over each, unless it names its own."""
    if lane.wire is not None or wire is None:
        yield lane
    elif wire == "all":
        for other in WIRES:
            setting = {**lane.setting, "wire": other}
            named = {"name": f"{lane.name}+wire={other}", "base": lane.base or lane.name}
            yield lane.model_copy(update={**named, "wire": other, "setting": setting})
    else:
        yield lane.model_copy(update={"wire": wire})


def make_plan_unexpanded(plan: Plan, lanes: Sequence[LanePlan], origin: str) -> Plan:
    """`plan` with these lanes, and with the generated traces after the named ones."""
    generated = [name for workload in plan.workload for name in workload.traces]
    values = plan.model_dump() | {
        "lane": [lane.model_dump() for lane in lanes],
        "traces": tuple(dict.fromkeys([*plan.traces, *generated])),
    }
    try:
        return Plan.model_validate(values | {"matrix": {}, "aa": False, "wire": None})
    except ValidationError as error:
        raise PlanError(f"{origin}: {first_problem(error)}") from None


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
        setting = {
            _axis(key): without_login(value) if isinstance(value, str) else value
            for key, value in zip(matrix, values, strict=True)
        }
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


def first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        key = str(problem["loc"][-1])
        known = _known_keys(problem["loc"])
        return f"unknown key {where!r}{nearest(key, known)}"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return f"{where}: {problem['msg'].lower()}"


_TABLES: dict[str, type[BaseModel]] = {"limits": Limits, "slo": Slo, "workload": Workload, "load": LoadShape}


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = Plan
    if loc[0] == "lane" and len(loc) > 2:
        model = LanePlan
    elif len(loc) > 1 and loc[0] in _TABLES:
        model = _TABLES[str(loc[0])]
    return list(model.model_fields)
