"""The copies of traces in a run folder, by the label that sessions carry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replayer.errors import ReplayerError, RunFolderError
from replayer.plan.schedule import labelled, trace_name
from replayer.requests.history import RecordedHistory
from replayer.traces.reader import Trace


def copies(folder: Path) -> dict[str, Path]:
    """Name -> file of every trace of a run."""
    return {path.parent.name: path for path in sorted((folder / "traces").glob("*/trace.jsonl*"))}


def histories_of(folder: Path, name: str, plan: Mapping[str, Any]) -> dict[str, RecordedHistory]:
    """The histories of a trace by label, in the run's dialect and profile.

    Raises RunFolderError where the folder lacks the trace, TraceError where it is damaged.
    """
    path = next((folder / "traces" / name).glob("trace.jsonl*"), None)
    if path is None:
        raise RunFolderError(f"{folder} holds no copy of the trace {name!r}")
    dialect, profile = plan.get("dialect", "openai-verbatim"), plan.get("profile")
    return labelled(name, RecordedHistory.trees(Trace.open(path), dialect, profile))


def history_of(
    folder: Path, label: str, plan: Mapping[str, object], recorded_turn: int | None = None
) -> RecordedHistory:
    """The recorded history of one label; for a trace named as a whole, the part that holds the turn.

    Raises RunFolderError, TraceError.
    """
    found = histories_of(folder, trace_name(label), plan)
    if label in found:
        return found[label]
    parts = [one for one in found.values() if recorded_turn is None or recorded_turn in one.turns]
    if not parts or label != trace_name(label):
        raise RunFolderError(
            f"{folder}: the trace has no part {label!r}: it is not the one that this run replayed"
        )
    return parts[0]


def kept_history(folder: Path, label: str, plan: Mapping[str, object]) -> RecordedHistory | None:
    """None where the run folder has lost its copy of the trace."""
    try:
        return history_of(folder, label, plan)
    except ReplayerError:
        return None
