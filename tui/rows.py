"""The comparison rows: one per figure, the same for every lane. A dash always has a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from replayer.steps import StepFacts
from replayer.tui.text import DASH, sparkline
from replayer.view import LaneView

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one lane shows in one row. `reason` explains a dash."""

    text: str
    style: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """`metric` names the comparison that decides whether a better value is marked."""

    label: str
    short: str
    cell: Callable[[LaneView, Figures, int], Cell]
    metric: str | None = None


def unknown(reason: str) -> Cell:
    return Cell(DASH, "$text-muted", reason)


def _usable(lane: LaneView, figures: Figures, width: int) -> Cell:
    rate = figures["usable_turn_rate"]
    if rate["value"] is None:
        return unknown("no reply has been judged yet")
    text = f"{rate['value']:.1%}"
    interval = f" [{rate['low'] * 100:.0f}–{rate['high'] * 100:.0f}] n={rate['n']}"
    return Cell(text + (interval if len(text + interval) <= width else f" n={rate['n']}"))


def _calls(lane: LaneView, figures: Figures, width: int) -> Cell:
    calls = figures["tool_calls"]
    style = "$error" if calls["invalid"] else ""
    return Cell(f"{calls['invalid']} of {calls['total']}", style)


def _faults(lane: LaneView, figures: Figures, width: int) -> Cell:
    faults = figures["faults"]
    if not faults:
        return Cell("none")
    worst = sorted(faults.items(), key=lambda pair: -pair[1])
    return Cell(", ".join(f"{name} {n}" for name, n in worst), "$warning")


def _executed(lane: LaneView, figures: Figures, width: int) -> Cell:
    calls = figures["tool_calls"]
    if calls["failed_execution"] is None:
        return unknown("no call was executed: tool results come from the recording")
    style = "$warning" if calls["failed_execution"] else ""
    return Cell(f"{calls['failed_execution']} of {calls['executed']}", style)


def _collapses(lane: LaneView, figures: Figures, width: int) -> Cell:
    repetition = figures["repetition"]
    if not repetition["collapsed_steps"]:
        return Cell("none")
    return Cell(f"{repetition['collapsed_steps']} · {repetition['wasted_tokens']} tok wasted", "$error bold")


def _prefix(lane: LaneView, figures: Figures, width: int) -> Cell:
    prefix = figures["prefix_cache"]
    if prefix["reported"] is None:
        return unknown("this engine does not report cached tokens; `replayer doctor URL` names the flag")
    ideal = f" of {prefix['ideal']:.1%}" if prefix["ideal"] is not None else ""
    return Cell(f"{prefix['reported']:.1%}{ideal}", "$warning" if prefix["cause"] else "")


def _prefix_curve(lane: LaneView, figures: Figures, width: int) -> Cell:
    """Reported share over the turns of the newest session, scaled to 1."""
    values = [_share(step) for step in newest_steps(lane)]
    if not any(value is not None for value in values):
        return unknown("no turn with reported cached tokens yet")
    return Cell(sparkline(values, width, top=1.0), "$primary")


def _share(step: StepFacts) -> float | None:
    return (
        step.cached_tokens / step.prompt_tokens
        if step.cached_tokens is not None and step.prompt_tokens
        else None
    )


def _cause(lane: LaneView, figures: Figures, width: int) -> Cell:
    cause = figures["prefix_cache"]["cause"]
    return Cell(str(cause).replace("_", " "), "$warning") if cause else Cell("none needed", "$text-muted")


def _ttft(lane: LaneView, figures: Figures, width: int) -> Cell:
    return _quantiles(figures["ttft_ms"], "no reply has started yet")


def _itl(lane: LaneView, figures: Figures, width: int) -> Cell:
    return _quantiles(figures["itl_ms"], "no streamed reply with two deltas yet")


def _quantiles(values: Figures, reason: str) -> Cell:
    if values["p50"] is None:
        return unknown(reason)
    return Cell(f"{number(values['p50'])} · p95 {number(values['p95'])}")


def _decode(lane: LaneView, figures: Figures, width: int) -> Cell:
    value = figures["decode_tok_s"]["value"]
    return unknown("no reply with known tokens yet") if value is None else Cell(number(value))


def _decode_curve(lane: LaneView, figures: Figures, width: int) -> Cell:
    values = [step.decode_tok_s for step in newest_steps(lane)]
    if not any(values):
        return unknown("no reply with known tokens yet")
    return Cell(sparkline(values, width), "$secondary")


def _acceptance(lane: LaneView, figures: Figures, width: int) -> Cell:
    acceptance = figures["acceptance"]
    if acceptance is None:
        return unknown("no drafted tokens: speculation is off, or the engine does not tell")
    length = f" · length {acceptance['length']:.2f}" if acceptance.get("length") else ""
    return Cell(f"{acceptance['rate']:.1%}{length}")


def _kv(lane: LaneView, figures: Figures, width: int) -> Cell:
    kv = figures["kv"]
    if kv is None:
        return unknown("the engine reports neither its KV pool nor its use")
    used = DASH if kv["peak_used"] is None else f"{kv['peak_used']:.1%} peak"
    pool = "" if kv["pool_tokens"] is None else f" of {kv['pool_tokens']:,}"
    return Cell(used + pool)


def _errors(lane: LaneView, figures: Figures, width: int) -> Cell:
    errors = figures["errors"]
    if not errors:
        return Cell("none")
    return Cell(", ".join(f"{kind} {n}" for kind, n in errors.items()), "$error")


def newest_steps(lane: LaneView) -> Sequence[StepFacts]:
    """The finished steps of the lane's newest session, in order."""
    if not lane.attempts:
        return ()
    newest = max(lane.attempts, key=lambda attempt: attempt.started)
    return [step for _, step in sorted(newest.steps.items()) if step.total_ns is not None]


def number(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


ROWS = (
    Row("usable turns", "usable", _usable, "usable_turn_rate"),
    Row("invalid calls", "calls", _calls, "invalid_call_rate"),
    Row("faults", "faults", _faults),
    Row("failed executions", "sandbox", _executed, "failed_call_rate"),
    Row("collapses", "collapse", _collapses, "collapsed_rate"),
    Row("prefix hits", "prefix", _prefix, "prefix_hit_rate"),
    Row("  over turns", "", _prefix_curve),
    Row("  what broke it", "broke", _cause),
    Row("TTFT ms", "ttft", _ttft, "ttft_ms"),
    Row("between deltas ms", "itl", _itl),
    Row("decode tok/s", "tok/s", _decode, "decode_tok_s"),
    Row("  over turns", "", _decode_curve),
    Row("draft acceptance", "accept", _acceptance),
    Row("KV cache", "kv", _kv),
    Row("engine errors", "errors", _errors, "error_rate"),
)
