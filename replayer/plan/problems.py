"""What is wrong with a plan, in one sentence."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from replayer.plan.limits import Limits, Slo
from replayer.plan.load_shape import LoadShape
from replayer.plan.model import LanePlan, Plan
from replayer.requests.workload import Workload
from replayer.text import nearest


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
