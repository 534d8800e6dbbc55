"""Parallel calls whose pieces were given to the wrong index on the way."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.tools.verdicts.schema_check import CallCheck, Validator
from replayer.wire.merged import objects_in
from replayer.wire.types import ToolCall


def mixed_up(calls: Sequence[ToolCall], checks: Sequence[CallCheck], validator: Validator) -> bool:
    """Whether the arguments make one sound object for each call once they are joined, though apart they do not.

    A model that wrote bad JSON leaves no such trace: what is missing in one call must stand whole in another.
    """
    if len(calls) < 2 or not any(check.defect for check in checks):
        return False
    objects = objects_in("".join(call.arguments for call in calls), len(calls))
    return len(objects) == len(calls) and all(
        validator.check(call.name, text).valid for call, text in zip(calls, objects, strict=True)
    )
