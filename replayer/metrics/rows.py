"""The side-by-side rows: which figures stand together in one line, how that line is written, and why it may be a dash.

Table, Markdown, HTML, its legend and the screen draw these; a row is data, so that adding one touches this file alone.
"""

from __future__ import annotations

from collections.abc import Callable

from replayer.lazy import dataclass
from replayer.metrics.catalogue import METRICS
from replayer.metrics.documents import LaneFigures, Quantiles
from replayer.metrics.shown import DASH, count, expected_words, number, percent, rate
from replayer.signals.prefix_reuse.causes import PHRASES


@dataclass(frozen=True, slots=True)
class Row:
    """`forms` writes a lane's line, longest first; no form is a figure that is not known, for the `reason`, in `brief`
    where there is little room. `metrics` are the figures in it, in their order."""

    label: str
    short: str
    metrics: tuple[str, ...]
    forms: Callable[[LaneFigures], tuple[str, ...]]
    reason: str
    brief: str
    explained: str = ""
    compared: str | None = None
    """The comparison that decides which lane is better here."""
    always: bool = True
    """Shown also where no lane knows it."""

    def text(self, lane: LaneFigures) -> str:
        """The longest form, or a dash."""
        return next(iter(self.forms(lane)), DASH)

    def unknown(self, lane: LaneFigures) -> tuple[str, str]:
        """Why there is a dash, at length and in brief."""
        if self.short in ("prefix", "not reused") and not lane.usable_turn_rate.n:
            return "no reply has been judged yet", "no reply yet"
        if self.short in ("ITL ms", "tok/s") and lane.ttft_ms.p50 is not None and lane.itl_ms.p50 is None:
            return "no timed reply came in more than one chunk", "one chunk a reply"
        return self.reason, self.brief

    @property
    def legend(self) -> str:
        return self.explained or METRICS[self.metrics[0]].explained


def _one(found: str) -> tuple[str, ...]:
    return () if found == DASH else (found,)


def _usable(lane: LaneFigures) -> tuple[str, ...]:
    found = lane.usable_turn_rate
    if found.value is None:
        return ()
    return rate(found), f"{found.value:.1%} of {found.n}"


def _executed(lane: LaneFigures) -> tuple[str, ...]:
    calls = lane.tool_calls
    return () if calls.failed_execution is None else (f"{calls.failed_execution} of {calls.executed}",)


def _collapsed(lane: LaneFigures) -> tuple[str, ...]:
    found = lane.repetition
    if not found.collapsed_turns:
        return ("none",)
    base = f"{found.collapsed_turns} · {found.wasted_tokens:,}"
    observed = f", {found.observed_turns} left running" if found.observed_turns else ""
    saved = f", at most {found.saved_tokens_at_most:,} saved" if found.saved_tokens_at_most else ""
    return (f"{base} tokens wasted{observed}{saved}", f"{base} tokens wasted", f"{base} wasted")


def _prefix(lane: LaneFigures) -> tuple[str, ...]:
    found = lane.prefix_cache
    if found.reported is None:
        return ()
    words = percent(found.reported)
    if found.ideal is None:
        return (words,)
    limit = expected_words(found)
    gone = f", {percent(found.evicted)} evicted first" if found.evicted else ""
    return (f"{words} ({limit}{gone})", f"{words} ({limit})", f"{words} of {percent(found.possible)}")


def _cause(lane: LaneFigures) -> tuple[str, ...]:
    found = lane.prefix_cache
    if found.cause is None:
        return ("nothing lost",) if found.reported is not None else ()
    if found.cause == "not_reported" and found.reported is None:
        return ()
    return (PHRASES.get(found.cause, found.cause.replace("_", " ")),)


def _quantiles(of: Callable[[LaneFigures], Quantiles]) -> Callable[[LaneFigures], tuple[str, ...]]:
    def forms(lane: LaneFigures) -> tuple[str, ...]:
        found = of(lane)
        if found.p50 is None:
            return ()
        shown = [f"{place} {number(getattr(found, place))}" for place in ("p50", "p95", "p99")]
        return " · ".join(shown), " · ".join(shown[:2])

    return forms


def _itl(lane: LaneFigures) -> tuple[str, ...]:
    """With several deltas in a chunk it is the time between chunks, and says so."""
    forms, several = _quantiles(lambda one: one.itl_ms)(lane), lane.deltas_per_chunk or 1.0
    return (f"{forms[0]} · {several:.1f} per chunk", *forms) if forms and several > _SEVERAL else forms


def _acceptance(lane: LaneFigures) -> tuple[str, ...]:
    found = lane.acceptance
    if found is None or found.rate is None:
        return ()
    length = f" · length {found.length:.2f}" if found.length else ""
    if found.shared_with:
        together = f"with {', '.join(found.shared_with)}"
        return (f"{found.rate:.1%}{length} · of the server, {together}", f"{found.rate:.1%} {together}")
    return (f"{found.rate:.1%}{length}",)


def _kv(lane: LaneFigures) -> tuple[str, ...]:
    if lane.kv is None:
        return ()
    swa = lane.facts.get("swa_pool_tokens")
    pool = (
        DASH
        if lane.kv.pool_tokens is None
        else f"{lane.kv.pool_tokens:,}" + (f" + SWA {swa:,}" if swa else "")
    )
    return (pool + ("" if lane.kv.peak_used is None else f" ({lane.kv.peak_used:.1%})"),)


def counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in counts.items())


def _number(key: str) -> Callable[[LaneFigures], tuple[str, ...]]:
    return lambda lane: _one(number(lane.figures.get(key)))


_SEVERAL = 1.05
_TIMES = ("p50", "p95", "p99")
ROWS = (
    Row("usable turns", "usable", ("usable_turn_rate",), _usable,
        "no reply has been judged yet", "nothing judged yet", compared="usable_turn_rate"),
    Row("invalid calls", "calls", ("invalid_calls", "tool_calls"),
        lambda lane: (f"{lane.tool_calls.invalid} of {lane.tool_calls.total}",), "", "",
        "checked here against the JSON Schema sent with the request", "invalid_call_rate"),
    Row("failed executions", "sandbox", ("failed_executions", "executed_calls"), _executed,
        "no call was executed: tool results come from the recording", "tools not run",
        "executed only in a sandbox", "failed_call_rate", always=False),
    Row("sessions finished", "finished", ("finished_sessions",), lambda lane: _one(rate(lane.finished_sessions)),
        "no live session ran to its end", "not known", always=False),
    Row("collapsed turns", "collapse", ("collapsed_turns", "wasted_tokens"), _collapsed, "", "",
        f"{METRICS['collapsed_rate'].explained}; wasted: {METRICS['wasted_tokens'].explained}", "collapsed_rate"),
    Row("prefix reuse", "prefix", ("prefix_hit_rate", "prefix_ideal", "prefix_evicted"), _prefix,
        "this engine does not report cached tokens; `replayer doctor URL` names the flag", "not reported",
        compared="prefix_hit_rate"),
    Row("  why not reused", "not reused", (), _cause,
        "without cached tokens from the engine nobody can tell what was lost", "cached tokens not reported",
        "the finding of the prefix signal that cost most tokens"),
    Row("TTFT ms", "TTFT ms", tuple(f"ttft_ms.{place}" for place in _TIMES), _quantiles(lambda lane: lane.ttft_ms),
        "no reply has started yet", "no reply yet", compared="ttft_ms.p50"),
    Row("ITL ms", "ITL ms", (*(f"itl_ms.{place}" for place in _TIMES), "deltas_per_chunk"), _itl,
        "no streamed reply with two deltas yet", "no stream yet", compared="itl_ms.p50"),
    Row("decode tok/s", "tok/s", ("decode_tok_s",), _number("decode_tok_s"),
        "no reply with known tokens yet", "no tokens known yet", compared="decode_tok_s"),
    Row("prefill tok/s", "prefill", ("prefill_tok_s",), _number("prefill_tok_s"),
        "no reply with known cached tokens yet", "not known"),
    Row("draft acceptance", "accepted", ("acceptance_rate", "acceptance_length"), _acceptance,
        "no drafted tokens: speculation is off, or the engine does not report it", "no speculation seen"),
    Row("KV tokens (peak)", "KV", ("kv_pool", "kv_peak"), _kv,
        "the engine reports neither its KV pool nor its use", "not reported", always=False),
    Row("tokens in / out", "tokens", ("prompt_tokens", "completion_tokens"),
        lambda lane: (f"{count(lane.tokens.prompt)} / {count(lane.tokens.completion)}",), "", ""),
    Row("engine errors", "errors", ("errors",), lambda lane: (counted(lane.errors) or "none",), "", "", compared="error_rate"),
)  # fmt: skip
BY_SHORT = {row.short: row for row in ROWS}
