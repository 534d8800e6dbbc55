"""Several run folders as one view, after checking that they replayed the same."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from replayer.errors import PlanError
from replayer.journal.view import LaneView, RunView, load

_PROMPT_KEYS = ("dialect", "profile", "transform", "differential")
"""What a plan changes of the prompts, beside its traces."""


def load_several(folders: Sequence[Path]) -> RunView:
    """Raises RunFolderError, and PlanError where one name stands for different traces or the modes differ."""
    check_same_traces(folders)
    return side_by_side([load(folder) for folder in folders])


def check_same_traces(folders: Sequence[Path]) -> None:
    seen: dict[str, tuple[str, Path]] = {}
    for folder in folders:
        for name, digest in trace_digests(folder).items():
            first, where = seen.setdefault(name, (digest, folder))
            if first != digest:
                raise PlanError(
                    f"{where.name} and {folder.name} replayed different traces under the name {name!r}: "
                    "their sessions cannot be compared"
                )


def trace_digests(run: Path) -> dict[str, str]:
    """By name, the SHA-256 of each trace as it was replayed."""
    found = {}
    for path in sorted((run / "traces").glob("*/trace.jsonl*")):
        with path.open("rb") as stream:
            found[path.parent.name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def prompt_differences(views: Sequence[RunView]) -> list[str]:
    """The plan's settings that made the prompts of these runs differ."""
    return [key for key in _PROMPT_KEYS if len({str(view.plan.get(key) or None) for view in views}) > 1]


def against(view: RunView, base: RunView) -> tuple[RunView, list[tuple[LaneView, LaneView]]]:
    """The run as it is to be compared, and (lane of the baseline run, lane of this run) by name; a baseline of one lane
    stands against every lane.

    Raises PlanError where the runs cannot be compared, or no lane has its like.
    """
    plan = side_by_side([view, base]).plan
    lanes = {lane.name: lane for lane in base.lanes}
    only = base.lanes[0] if len(base.lanes) == 1 else None
    pairs = [(found, lane) for lane in view.lanes if (found := lanes.get(lane.name, only)) is not None]
    if not pairs:
        raise PlanError(
            f"no lane of {view.run} ({', '.join(lane.name for lane in view.lanes)}) is named as one of the "
            f"baseline {base.run} ({', '.join(lanes)})"
        )
    where = base.run if base.run != view.run else f"{base.run} (baseline)"
    named = [(replace(first, name=f"{base.run}:{first.name}", run=where), lane) for first, lane in pairs]
    return replace(view, plan=plan), named


def named_apart(views: Sequence[RunView]) -> list[RunView]:
    """Runs of the same name, in two places, are numbered."""
    seen: Counter[str] = Counter()
    named = []
    for view in views:
        seen[view.run] += 1
        name = f"{view.run} ({seen[view.run]})" if seen[view.run] > 1 else view.run
        named.append(replace(view, run=name, lanes=tuple(replace(lane, run=name) for lane in view.lanes)))
    return named


def side_by_side(views: Sequence[RunView]) -> RunView:
    """Several runs as one view, lanes named RUN:LANE where names clash. Raises PlanError where modes differ."""
    if len(views) == 1:
        return views[0]
    views = named_apart(views)
    modes = {view.mode for view in views}
    if len(modes) > 1:
        raise PlanError(
            "these runs cannot be set side by side: one has recorded history, another live history"
        )
    names = [lane.name for view in views for lane in view.lanes]
    lanes = [
        replace(lane, name=f"{view.run}:{lane.name}") if names.count(lane.name) > 1 else lane
        for view in views
        for lane in view.lanes
    ]
    stops = [view.plan["stop_when_decided"] for view in views if view.plan.get("stop_when_decided")]
    return replace(
        views[0],
        plan=views[0].plan | {"stop_when_decided": stops[0] if stops else None},
        run=" + ".join(view.run for view in views),
        lanes=tuple(lanes),
        warnings=tuple(warning for view in views for warning in view.warnings),
        reasons=tuple(reason for view in views for reason in view.reasons),
        incomplete=sum(view.incomplete for view in views),
    )
