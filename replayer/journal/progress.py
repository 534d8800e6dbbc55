"""What a journal says is done: finished sessions, attempts so far, the plan. Used by resume and --into."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from pathlib import Path

from replayer.errors import RunFolderError
from replayer.journal.events import LoadEnded, RunStarted, SessionFinished, SessionStarted
from replayer.journal.log import read
from replayer.journal.turns import is_complete
from replayer.lazy import dataclass
from replayer.plan.load import make_plan
from replayer.plan.model import Plan


@dataclass(slots=True)
class Attempts:
    """`done`: ids of sessions with a complete attempt. `tried`: attempts per session id."""

    done: set[str] = field(default_factory=set)
    tried: Counter[str] = field(default_factory=Counter)
    loads: set[str] = field(default_factory=set)
    """Lanes whose load came to its end."""
    last_at: int = 0

    def next(self, session: str) -> int:
        self.tried[session] += 1
        return self.tried[session]


def attempts_so_far(folder: Path) -> Attempts:
    attempts = Attempts()
    for event in read(folder):
        attempts.last_at = max(attempts.last_at, event.at)
        if isinstance(event, SessionStarted):
            attempts.tried[event.session] = max(attempts.tried[event.session], event.attempt)
        elif isinstance(event, SessionFinished) and is_complete(event.outcome):
            attempts.done.add(event.session)
        elif isinstance(event, LoadEnded):
            attempts.loads.add(event.lane)
    return attempts


def plan_of(folder: Path) -> Plan:
    """The plan in force: that of the last `run_started` line (`--into` writes a widened one)."""
    plan = None
    for event in read(folder):
        if isinstance(event, RunStarted):
            plan = event.plan
    if plan is None:
        raise RunFolderError(f"{folder} has no plan in its journal; start the run again")
    known = {
        key: value for key, value in plan.items() if key in Plan.model_fields
    }  # an older version had others
    return make_plan(known, f"the plan of {folder}")
