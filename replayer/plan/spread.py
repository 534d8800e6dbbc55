"""How many processes drive a run's sessions, and where: nothing that a session sends depends on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import field_validator, model_validator

from replayer.plan.load_shape import Flag, From1OrNone, Strict
from replayer.wire.types import JsonObject


class Spread(Strict):
    """Which processes drive the sessions."""

    processes: Annotated[
        str | None,
        Flag("processes that drive the sessions: N, or auto (by cores and sessions in flight)", "N"),
    ] = None
    """None: the one that also asks the engines what they are. Sessions in flight are those of all together."""
    ray: Annotated[
        str | None, Flag("drive the sessions from a Ray cluster: its address, or local", "ADDRESS")
    ] = None
    shards: Annotated[
        From1OrNone, Flag("with --ray: processes on the cluster (default: one a node)", "N")
    ] = None

    @field_validator("processes", mode="before")
    @classmethod
    def _processes_are_counted(cls, asked: object) -> object:
        if asked is not None and not re.fullmatch(r"auto|[1-9][0-9]{0,3}", str(asked)):
            raise ValueError(f"processes {asked!r} is not auto or a number from 1 on")
        return None if asked is None else str(asked)

    @model_validator(mode="after")
    def _one_way_to_be_many(self) -> Spread:
        if self.ray is not None and self.processes is not None:
            raise ValueError("processes and ray exclude each other; with ray, shards says how many")
        if self.shards is not None and self.ray is None:
            raise ValueError("shards are for ray; on one machine give processes")
        return self


def instead(given: Mapping[str, object]) -> JsonObject:
    """What a plan's keys become where a run goes on in other processes: one way of being many ends the other."""
    whole = given.keys() & {"processes", "ray"}
    return {**(dict.fromkeys(Spread.model_fields) if whole else {}), **given}
