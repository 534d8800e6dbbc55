"""The comparison rows: one per figure, the same for every lane. A dash always has a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from replayer.journal.turns import TurnFacts
from replayer.journal.view import LaneView
from replayer.signals.prefix_reuse.causes import PHRASES
from replayer.tui.text import DASH

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """What one lane shows in one row. `reason` explains a dash, in `brief` where there is no room for all of it;
    `more` is what else there is to say. A row that is a curve has `values` by turn, on a scale up to `top`."""

    text: str
    style: str = ""
    reason: str = ""
    brief: str = ""
    more: str = ""
    values: Sequence[float | None] = ()
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """`metric` names the comparison that decides whether a better value is marked; rows of high `rank` are the first
    to be left out on a low screen."""

    label: str
    short: str
    cell: Callable[[LaneView, Figures, int], Cell]
    rank: int
    metric: str | None = None
    curve: bool = False
    title: str = ""
    """Of the group that begins with this row."""


def unknown(reason: str, brief: str) -> Cell:
    return Cell(DASH, "$foreground-muted", reason, brief)


def _usable(lane: LaneView, figures: Figures, width: int) -> Cell:
    rate = figures["usable_turn_rate"]
    if rate["value"] is None:
        return unknown("no reply has been judged yet", "nothing judged yet")
    text = f"{rate['value']:.1%}"
    interval = f" [{rate['low'] * 100:.0f}–{rate['high'] * 100:.0f}] n={rate['n']}"
    shown = text + (interval if len(text + interval) <= width else f" n={rate['n']}")
    return Cell(shown, more=f"{text}{interval}: 95 % interval (Wilson) over n judged turns")


def _calls(lane: LaneView, figures: Figures, width: int) -> Cell:
    calls = figures["tool_calls"]
    style = "$error" if calls["invalid"] else ""
    return Cell(f"{calls['invalid']} of {calls['total']}", style)


def _faults(lane: LaneView, figures: Figures, width: int) -> Cell:
    faults = figures["faults"]
    if not faults:
        return Cell("none")
    worst = sorted(faults.items(), key=lambda pair: -pair[1])
    text = ", ".join(f"{name} {n}" for name, n in worst)
    blame = ", ".join(f"{name} {n}" for name, n in figures["blames"].items())
    return Cell(text, "$error" if blame else "$warning", more=f"{text}\nblamed on: {blame or 'nobody'}")


def _executed(lane: LaneView, figures: Figures, width: int) -> Cell:
    calls = figures["tool_calls"]
    if calls["failed_execution"] is None:
        return unknown("no call was executed: tool results come from the recording", "results as recorded")
    style = "$warning" if calls["failed_execution"] else ""
    more = ", ".join(f"{name} {n}" for name, n in calls["outcomes"].items())
    return Cell(f"{calls['failed_execution']} of {calls['executed']}", style, more=more)


def _collapses(lane: LaneView, figures: Figures, width: int) -> Cell:
    repetition = figures["repetition"]
    if not repetition["collapsed_turns"]:
        return Cell("none")
    words = "tokens wasted" if width >= 22 else "wasted"
    return Cell(f"{repetition['collapsed_turns']} · {repetition['wasted_tokens']} {words}", "$error bold")


def _prefix(lane: LaneView, figures: Figures, width: int) -> Cell:
    prefix = figures["prefix_cache"]
    if prefix["reported"] is None:
        return unknown(
            "this engine does not report cached tokens; `replayer doctor URL` names the flag", "not reported"
        )
    words = f"{prefix['reported']:.1%}"
    if prefix["ideal"] is not None:
        possible, held = (f"{words} of {prefix['ideal']:.1%} {limit}" for limit in ("possible", "still held"))
        gone = f", {prefix['evicted']:.1%} evicted" if prefix["evicted"] else ""
        words = held + gone if gone and len(held + gone) <= width else possible
    style = "$warning" if prefix["cause"] else ""
    return Cell(words, style, more=prefix["verdict"] or "")


def _prefix_reported(lane: LaneView, figures: Figures, width: int) -> Cell:
    return _curve([turn["reported"] for turn in figures["prefix_cache"]["curve"]], width)


def _prefix_possible(lane: LaneView, figures: Figures, width: int) -> Cell:
    return _curve([turn["ideal"] for turn in figures["prefix_cache"]["curve"]], width)


def _curve(values: Sequence[float | None], width: int) -> Cell:
    """Shares by turn on a scale up to 1, so that two curves can be compared."""
    if not any(value is not None for value in values):
        return unknown("not known of any turn yet", "not known yet")
    return Cell("", "$primary", more="share of the prompt by turn, full height 100 %", values=values, top=1.0)


def _cause(lane: LaneView, figures: Figures, width: int) -> Cell:
    prefix = figures["prefix_cache"]
    cause = prefix["cause"]
    if cause is None:
        return Cell("nothing lost", "$foreground-muted")
    if cause == "not_reported" and prefix["reported"] is None:
        return unknown(
            "without cached tokens from the engine nobody can tell what was lost",
            "cached tokens not reported",
        )
    return Cell(PHRASES.get(cause, cause.replace("_", " ")), "$warning", more=prefix["verdict"] or "")


def _ttft(lane: LaneView, figures: Figures, width: int) -> Cell:
    return _quantiles(figures["ttft_ms"], width, "no reply has started yet", "no reply yet")


def _itl(lane: LaneView, figures: Figures, width: int) -> Cell:
    return _quantiles(figures["itl_ms"], width, "no streamed reply with two deltas yet", "no stream yet")


def _quantiles(values: Figures, width: int, reason: str, brief: str) -> Cell:
    if values["p50"] is None:
        return unknown(reason, brief)
    shown = [f"{name} {number(values[name])}" for name in ("p50", "p95", "p99")]
    more = " · ".join(shown)
    return Cell(more if len(more) <= width else " · ".join(shown[:2]), more=f"{more} of {values['n']:,}")


def _decode(lane: LaneView, figures: Figures, width: int) -> Cell:
    value = figures["decode_tok_s"]["value"]
    return (
        unknown("no reply with known tokens yet", "no tokens known yet")
        if value is None
        else Cell(number(value))
    )


def _decode_curve(lane: LaneView, figures: Figures, width: int) -> Cell:
    values = [turn.decode_tok_s for turn in newest_turns(lane)]
    if not any(values):
        return unknown("no reply with known tokens yet", "no tokens known yet")
    return Cell("", "$secondary", more="tokens/s by turn of the newest session", values=values)


def _acceptance(lane: LaneView, figures: Figures, width: int) -> Cell:
    acceptance = figures["acceptance"]
    if acceptance is None:
        return unknown(
            "no drafted tokens: speculation is off, or the engine does not tell", "no speculation seen"
        )
    length = f" · length {acceptance['length']:.2f}" if acceptance.get("length") else ""
    return Cell(f"{acceptance['rate']:.1%}{length}", more=f"source: {acceptance['source']}")


def _kv(lane: LaneView, figures: Figures, width: int) -> Cell:
    kv = figures["kv"]
    if kv is None:
        return unknown("the engine reports neither its KV pool nor its use", "not reported")
    pool = "" if kv["pool_tokens"] is None else f" of {kv['pool_tokens']:,} tokens"
    if kv["peak_used"] is None:
        why = "the engine reports its KV pool, but no reading of its use came yet"
        return Cell(f"{DASH}{pool}", "", why, "not read yet")
    return Cell(f"peak {kv['peak_used']:.1%}{pool}")


def _errors(lane: LaneView, figures: Figures, width: int) -> Cell:
    errors = figures["errors"]
    if not errors:
        return Cell("none")
    text = ", ".join(f"{kind} {n}" for kind, n in errors.items())
    return Cell(text, "$error", more=text)


def newest_turns(lane: LaneView) -> Sequence[TurnFacts]:
    """The finished turns of the lane's newest session, in order."""
    if not lane.attempts:
        return ()
    newest = max(lane.attempts, key=lambda attempt: attempt.started)
    return [turn for _, turn in sorted(newest.turns.items()) if turn.total_ns is not None]


def number(value: float | None) -> str:
    if value is None:
        return DASH
    return f"{value:,.0f}" if value >= 100 or not value else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


ROWS = (
    Row("usable turns", "usable", _usable, 0, "usable_turn_rate", title="answers"),
    Row("invalid calls", "calls", _calls, 1, "invalid_call_rate"),
    Row("faults in turns", "faults", _faults, 2),
    Row("engine errors", "errors", _errors, 9, "error_rate"),
    Row("failed executions", "sandbox", _executed, 5, "failed_call_rate"),
    Row("collapsed turns", "collapse", _collapses, 3, "collapsed_rate"),
    Row("prefix reuse", "prefix", _prefix, 4, "prefix_hit_rate", title="prefix cache"),
    Row("  lost because", "lost to", _cause, 8),
    Row("  reported", "reported", _prefix_reported, 13, curve=True),
    Row("  possible", "possible", _prefix_possible, 14, curve=True),
    Row("TTFT ms", "TTFT ms", _ttft, 6, "ttft_ms", title="speed and memory"),
    Row("between deltas ms", "gap ms", _itl, 12),
    Row("decode tok/s", "tok/s", _decode, 7, "decode_tok_s"),
    Row("  by turn", "by turn", _decode_curve, 15, curve=True),
    Row("draft acceptance", "accepted", _acceptance, 10),
    Row("KV cache", "KV", _kv, 11),
)
