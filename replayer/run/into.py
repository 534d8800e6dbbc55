"""`--into RUN`: an earlier run's plan, with the lanes and repeats that it lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from replayer.errors import PlanError
from replayer.plan.load import make_plan_unexpanded
from replayer.plan.model import LanePlan, Plan
from replayer.plan.spread import Spread, instead

_KEPT = tuple(
    """
    traces workload mode tools max_turns max_tokens concurrency timing load profile dialect transform
    """.split()
)
"""What makes a session the same session: an earlier run's stay as they are."""


def widen(old: Plan, new: Plan, *, given: Collection[str], run: str) -> Plan:
    """The plan of the earlier run with what `new` has besides. `given` are the keys that the user wrote.

    Raises PlanError where the two differ in what a session is.
    """
    for key in _KEPT:
        if key in given and getattr(new, key) != getattr(old, key):
            was = getattr(old, key)
            value = f" ({was})" if isinstance(was, str | int) else ""
            raise PlanError(f"--into {run} keeps the {key} of that run{value}; omit it, or start a new run")
    if "repeat" in given and new.repeat < old.repeat:
        raise PlanError(
            f"--into {run}: that run has {old.repeat} repeats already; it cannot have {new.repeat}"
        )
    added = [lane for lane in new.lane if not _is_known(lane, old, run)]
    changed = instead({key: getattr(new, key) for key in Spread.model_fields if key in given})
    changed |= {"repeat": new.repeat} if "repeat" in given else {}
    lanes = [*with_secrets_of(old.lane, new.lane), *added]
    return make_plan_unexpanded(old.model_copy(update=changed), lanes, "the plan")


def with_secrets_of(lanes: Iterable[LanePlan], given: Iterable[LanePlan]) -> Iterator[LanePlan]:
    """A run's lanes with the credentials that its folder does not have, from lanes of these names given again."""
    again = {lane.name: lane for lane in given}
    for lane in lanes:
        names = (lane.name, lane.base, lane.name.removesuffix(".again"))
        found = next((again[name] for name in names if name in again), None)
        yield lane if found is None else _with_secrets(lane, found)


def _with_secrets(lane: LanePlan, given: LanePlan) -> LanePlan:
    """A key from the environment takes the place of a login."""
    secrets = lane.secrets | given.secrets
    if given.api_key_env:
        secrets = {
            place: secret for place, secret in secrets.items() if secret or not place.startswith("url")
        }
    return lane.model_copy(update={"secrets": secrets, "api_key_env": given.api_key_env or lane.api_key_env})


def _is_known(lane: LanePlan, old: Plan, run: str) -> bool:
    known = next((other for other in old.lane if other.name == lane.name), None)
    if known is None:
        return False
    differ = [
        name
        for name in LanePlan.model_fields
        if name != "secrets" and getattr(known, name) != getattr(lane, name)
    ]
    if differ:
        raise PlanError(
            f"--into {run}: its lane {lane.name!r} has another {differ[0]}; give the new lane a name of its own"
        )
    return True
