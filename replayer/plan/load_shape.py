"""How load comes: sessions alive at once, when the next one arrives, where it starts, how long it lasts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

_ARRIVALS = re.compile(r"(closed|recorded|poisson:(\d+(\.\d+)?))\Z")
_NO_LOAD = frozenset({"idle_cap", "shared_prompt"})
"""Settings that mean something without load too."""

STEADY = 0.9
"""Share of the sessions asked for that are alive in the steady window."""


@dataclass(frozen=True, slots=True)
class Flag:
    """How a key is written on the command line: `--max-turns` for `max_turns` unless `name` says otherwise.

    Its type and its choices come from the field, so that a key is declared once.
    """

    help: str
    metavar: str | None = None
    name: str | None = None


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Above0 = Annotated[float, Field(gt=0)]
From0 = Annotated[float, Field(ge=0)]
From1 = Annotated[int, Field(ge=1)]
Above0OrNone = Annotated[float | None, Field(gt=0)]
From1OrNone = Annotated[int | None, Field(ge=1)]


class LoadShape(Strict):
    """Sessions that are kept alive, and when the next one comes (the `[load]` table)."""

    sessions: Annotated[
        From1OrNone, Flag("keep N sessions alive on each lane: when one ends, the next starts", "N")
    ] = None
    """None: the plan's `concurrency` where the next session waits for one to end, else as many as arrive."""
    duration: Annotated[
        Above0OrNone,
        Flag("seconds of load, sessions being recycled; replies in flight at its end are awaited", "S"),
    ] = None
    """None: each session of the plan once."""
    arrivals: Annotated[
        str,
        Flag("when sessions start: closed (as one ends; default), poisson:RATE a second, recorded", "A"),
    ] = "closed"
    start: Annotated[
        Literal["beginning", "seeded", "staggered"],
        Flag("where: at the beginning, each at a seeded turn, or only the first N at a seeded turn"),
    ] = "beginning"
    """What stands before a seeded turn is sent once to fill the cache, and not counted."""
    idle_cap: Annotated[
        float | None, Field(ge=0), Flag("longest pause between two turns, whatever was recorded", "S")
    ] = None
    ramp: Annotated[From0, Flag("seconds over which the first N sessions start", "S")] = 0.0
    warm_up: Annotated[
        From0, Flag("seconds at the start that no load figure counts", "S", "--load-warm-up")
    ] = 0
    shared_prompt: Annotated[
        bool, Flag("system prompts and tools are shared between sessions, as in production")
    ] = False
    """Sessions are made different behind the first user message, also where the engine has a salt."""

    @field_validator("arrivals")
    @classmethod
    def _arrivals_are_known(cls, arrivals: str) -> str:
        found = _ARRIVALS.match(arrivals)
        if not found or (found[2] and not float(found[2])):
            raise ValueError(
                f"arrivals {arrivals!r} is not closed, recorded or poisson:RATE (sessions a second)"
            )
        return arrivals

    @property
    def asked(self) -> bool:
        """Whether the plan is a load and no list of sessions."""
        names = self.model_fields_set - _NO_LOAD
        return any(getattr(self, name) != LoadShape.model_fields[name].get_default() for name in names)

    @property
    def rate(self) -> float | None:
        """Sessions a second, where they come at random."""
        head, _, rate = self.arrivals.partition(":")
        return float(rate) if head == "poisson" else None

    @property
    def closed(self) -> bool:
        return self.arrivals == "closed"


@dataclass(frozen=True, slots=True)
class Next:
    """A session to come: `label` names its trace, `repeat` how often that has come before."""

    label: str
    repeat: int
    after: float | None = None
    """Seconds from the begin of the load; None as soon as there is room."""


def coming(
    shape: LoadShape, labels: Sequence[str], *, seed: int, repeat: int, recorded: Sequence[float] = ()
) -> Iterator[Next]:
    """The sessions of a load in order, the same for every lane: without end where it has a duration.

    The traces come in a new seeded order each time round; independent parts of one stay together. `recorded` are the
    labels' own starts in seconds.
    """
    if shape.arrivals == "recorded":
        order = sorted(range(len(labels)), key=lambda at: recorded[at])
        yield from (Next(labels[at], 0, recorded[at]) for at in order)
        return
    rounds = itertools.count() if shape.duration else range(repeat)
    gaps, at = Random(f"{seed}/arrivals"), 0.0
    for number in rounds:
        for label in _shuffled(labels, f"{seed}/order/{number}"):
            if shape.rate is None:
                yield Next(label, number)
            else:
                at += gaps.expovariate(shape.rate)
                yield Next(label, number, at)


def _shuffled(labels: Sequence[str], seed: str) -> Iterator[str]:
    parts: dict[str, list[str]] = {}
    for label in labels:
        parts.setdefault(label.partition("#")[0], []).append(label)
    names = list(parts)
    Random(seed).shuffle(names)
    for name in names:
        yield from parts[name]


def first_turn(
    shape: LoadShape, turns: int, *, seed: int, session: Next, place: int, alive: int | None
) -> int:
    """The position of the turn at which the `place`-th session of a load starts, of so many turns."""
    if shape.start == "beginning" or (shape.start == "staggered" and place >= (alive or 0)):
        return 0
    return Random(f"{seed}/start/{session.label}/{session.repeat}").randrange(turns)
