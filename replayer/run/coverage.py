"""How many of the recorded turns a run sends, and why fewer: said before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replayer.plan.model import Plan
from replayer.plan.schedule import trace_name
from replayer.requests.history import RecordedHistory
from replayer.traces.trees import skipped


def coverage(plan: Plan, histories: Mapping[str, RecordedHistory]) -> Iterator[str]:
    """One sentence for each trace. In live mode the number of turns is the engine's own."""
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


def _why(plan: Plan, parts: list[RecordedHistory], sent: int) -> str:
    whole = sum(len(history.turns) for history in parts)
    failed = skipped(parts[0].trace)
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
    how = "answered from the recording" if live else "replayed beside the main thread"
    return f", {subagents} subagent{'s' if subagents > 1 else ''} {how}"
