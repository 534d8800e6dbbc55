"""Usable turns by wire and mode: the same prompts over each wire of an engine, streamed and not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from replayer.journal.view import LaneView, RunView
from replayer.metrics.run_documents import Differential, ModeCount, ModeRow
from replayer.metrics.samples import by_key
from replayer.wire.types import JsonObject

_SILENT = frozenset({"silent_repair", "silent_drop"})
_MODES = {"unstreamed": "", "streamed": " streamed"}


def mode_row(lane: str, engine: str, wire: str, prompts: Sequence[JsonObject], silent: int = 0) -> ModeRow:
    """The answers over one wire of an engine. `prompts`: of each, by mode, `usable` and fatal `faults`."""
    differ = sum(len({one["usable"] for one in modes.values()}) == 2 for modes in prompts)
    streamed, unstreamed = _count(prompts, "streamed"), _count(prompts, "unstreamed")
    return ModeRow(lane, engine, wire, streamed, unstreamed, differ, silent)


def _count(prompts: Sequence[JsonObject], mode: str) -> ModeCount:
    found = [modes[mode] for modes in prompts if mode in modes]
    faults = Counter(klass for one in found for klass in one["faults"])
    return ModeCount(sum(one["usable"] for one in found), len(found), dict(sorted(faults.items())))


def differential(view: RunView) -> Differential | None:
    """None where nothing was asked in both modes. With recorded history, rows are of the turns that all lanes have."""
    asked = {
        lane: {key: turn for key, turn in by_key(lane).items() if turn.modes is not None}
        for lane in view.lanes
    }
    asked = {lane: turns for lane, turns in asked.items() if turns}
    shared = set.intersection(*map(set, asked.values())) if asked and view.mode == "recorded" else set()
    found = []
    for lane, turns in asked.items():
        kept = [turn for key, turn in turns.items() if not shared or key in shared]
        wires = "+".join(sorted({turn.wire for turn in kept}))
        silent = sum(bool(_SILENT & set(turn.faults)) for turn in kept)
        prompts = [turn.modes for turn in kept if turn.modes is not None]
        found.append(mode_row(lane.name, engine_of(lane), wires, prompts, silent))
    return put_together(found, same_prompts=bool(shared))


def engine_of(lane: LaneView) -> str:
    """The lane that `--wire all` made this one from, or its own name."""
    return str(lane.plan.get("base") or lane.name)


def put_together(rows: list[ModeRow], *, same_prompts: bool) -> Differential | None:
    if not rows:
        return None
    engines = [list(group) for _, group in groupby(rows, attrgetter("engine"))]
    return Differential(same_prompts, rows, [_words(group, same_prompts) for group in engines])


def _words(rows: Sequence[ModeRow], same_prompts: bool) -> str:
    """`vllm, same prompt: chat 10/10, chat streamed 10/10, messages 10/10, messages streamed 0/10`."""
    counts = [
        f"{row.wire}{words} {count.usable}/{count.n}"
        for row in rows
        for mode, words in _MODES.items()
        if (count := getattr(row, mode)).n
    ]
    subject = ", ".join(filter(None, (rows[0].engine, "same prompt" if same_prompts else "usable turns")))
    return f"{subject}: {', '.join(counts)}"
