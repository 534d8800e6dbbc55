"""How many of the recorded turns a run sends, and why fewer: said before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replayer.errors import PlanError
from replayer.plan.model import Plan
from replayer.plan.schedule import trace_name
from replayer.requests.history import RecordedHistory


def coverage(plan: Plan, histories: Mapping[str, RecordedHistory]) -> Iterator[str]:
    """One sentence for each trace. In live mode the number of turns is the engine's own."""
    if plan.load.asked:
        yield _load_words(plan)
    parts: dict[str, list[RecordedHistory]] = {}
    for label, history in histories.items():
        parts.setdefault(trace_name(label), []).append(history)
    for name, mine in parts.items():
        recorded = len(mine[0].trace.turns)
        if plan.mode == "live":
            yield f"{name}: live history from {recorded} recorded turns{_subagents(mine, live=True)}"
            continue
        sent = sum(len(history.turns[: plan.max_turns]) for history in mine)
        yield f"{name}: sends {sent} of {recorded} recorded turns{_why(plan, mine, sent)}{_subagents(mine)}"


def _load_words(plan: Plan) -> str:
    load, alive = plan.load, plan.load.sessions or (plan.concurrency if plan.load.closed else None)
    come = {"closed": "the next one starts when one ends", "recorded": "they start as recorded"}
    many = "as many sessions as arrive" if alive is None else f"{alive} sessions"
    length = f"for {load.duration:g} s" if load.duration else "until all have been replayed"
    coming = come.get(load.arrivals, f"{load.rate:g} arrive a second at random" if load.rate else "")
    return f"load: {many} alive on each lane {length}; {coming}; each is drawn from the traces, whole unless its time ends"


def _why(plan: Plan, parts: list[RecordedHistory], sent: int) -> str:
    whole = sum(len(history.turns) for history in parts)
    failed = len(parts[0].trace.turns) - whole
    reasons = [
        f"{failed} failed without an answer when recorded" if failed else "",
        f"--max-turns {plan.max_turns} leaves out {whole - sent}" if sent < whole else "",
    ]
    words = "; ".join(filter(None, reasons))
    return f" ({words})" if words else ""


def _subagents(parts: list[RecordedHistory], *, live: bool = False) -> str:
    subagents = sum(len(history.lines) - 1 for history in parts)
    if len(parts) > 1:
        return f", as {len(parts)} independent sessions"
    if not subagents:
        return ""
    how = (
        "replayed where its call comes as recorded, else only answered"
        if live
        else "replayed beside the main thread"
    )
    return f", {subagents} subagent{'s' if subagents > 1 else ''} {how}"


def recorded_starts(plan: Plan, histories: dict[str, RecordedHistory]) -> list[float]:
    """When the sessions started as they were recorded, in seconds after the first, at the plan's pace.

    Raises PlanError where the recording has no times.
    """
    if plan.load.arrivals != "recorded":
        return []
    found = []
    for label, history in histories.items():
        times = history.trace.turns[history.turns[0]].times
        if times is None or times.started is None:
            raise PlanError(f"{label} was recorded without times: its sessions cannot start as recorded")
        found.append(times.started)
    return [(at - min(found)) * (plan.pace or 1.0) for at in found]
