"""Headers of a lane: fixed ones, ones from the environment, and ones that name the session."""

from __future__ import annotations

import os
from collections.abc import Mapping

from replayer.errors import PlanError
from replayer.plan.model import LanePlan

_FROM = "env:"
_SESSION = "{session}"


def lane_headers(plan: LanePlan) -> dict[str, str]:
    """The headers with the values of the environment in place. They stay in memory: the plan keeps the names.

    Raises PlanError where a variable is not set.
    """
    return {name: _value(plan, name, text) for name, text in plan.headers.items()}


def fixed(headers: Mapping[str, str]) -> dict[str, str]:
    """Those that are the same for every request: what probes and telemetry send too."""
    return {name: text for name, text in headers.items() if _SESSION not in text}


def for_session(headers: Mapping[str, str], session: str) -> dict[str, str]:
    return {name: text.replace(_SESSION, session) for name, text in headers.items()}


def _value(plan: LanePlan, name: str, text: str) -> str:
    if not text.startswith(_FROM):
        return text
    variable = text.removeprefix(_FROM)
    found = os.environ.get(variable)
    if not found:
        raise PlanError(f"lane {plan.name!r}: the variable {variable} of header {name} is not set")
    if any(sign in found for sign in "\r\n\0"):
        raise PlanError(f"lane {plan.name!r}: the variable {variable} of header {name} holds a line break")
    return found
