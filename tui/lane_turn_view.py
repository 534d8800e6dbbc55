"""A turn as text: what its request adds to the one before, and each lane's verdict, prefix cache, answer, results, timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff

from replayer.journal.events import is_stalled
from replayer.journal.lane_turn import Asked, LaneTurn
from replayer.journal.packing import gaps_us
from replayer.journal.turn_detail import TurnDetail
from replayer.metrics.shown import count
from replayer.traces.answer_text import replayed_text
from replayer.traces.schema import ToolCallItem
from replayer.tui.calls import call_text, same_call, tinted
from replayer.tui.cards import AGAINST, outcome_words
from replayer.tui.marked import HERE, THERE, differences, marked
from replayer.tui.prefix_view import prefix_text
from replayer.tui.text import DASH, Span, hanging, plot, safe, size_words, wrapped
from replayer.wire.types import JsonObject

Spans = list[Span | str]

MOST_CHARS = 20_000
"""Of one answer; a reply of a megabyte is nothing that anybody reads here."""
_OUTPUT_LINES, _UNFOLDED_LINES = 12, 200
"""Of a result that differs from the recorded one, and of one in full."""
_MOST_LINES = 1_000
_MOST_FAULTS = 40
_PLOT_HEIGHT = 4
_QUIET = "$foreground-muted"
_TITLE = "bold $primary"


def lane_text(
    lane: LaneTurn, recorded: str, results: Mapping[str, str], width: int, *, unfolded: bool
) -> Spans:
    """All that is known of the turn on this lane; a lost prefix stands above the answer, a healthy one below.

    `results` are the recorded results of the turn's calls by what they call (`same_call`).
    """
    if lane.reply is None:
        return [*_alarms(lane, width), ("still streaming", _QUIET)]
    prefix, lost = prefix_text(lane.finding("prefix_reuse"), width)
    return [
        *_verdict(lane, width),
        *_alarms(lane, width),
        *(prefix if lost else []),
        *_answer(lane.reply, recorded, width),
        *_results(lane, results, width, unfolded=unfolded),
        *_timing(lane.reply, width),
        *([] if lost else prefix),
    ]


def _verdict(lane: LaneTurn, width: int) -> Spans:
    if lane.verdict is None:
        return [("○ not judged\n\n", _QUIET)]
    spans: Spans = [] if lane.verdict["usable"] else [("✗ NOT USABLE\n", "bold $error")]
    faults = lane.verdict["faults"]
    for fault in faults[:_MOST_FAULTS]:
        sign, style = ("✘", "$error") if fault["fatal"] else ("△", "$warning")
        where = f" at {fault['path']}" if fault.get("path") else ""
        call = f" in call {fault['call_index'] + 1}" if fault.get("call_index") is not None else ""
        spans += [(f"{sign} {fault['klass']}{where}{call}", f"bold {style}")]
        spans += [(f"  blame: {fault['blame']}\n", _QUIET)]
        if not (fault["klass"] == "collapsed" and lane.alarms):
            spans.append(f"  {wrapped(fault['message'][:1000], width, '  ')}\n")
    if len(faults) > _MOST_FAULTS:
        spans.append((f"… {len(faults) - _MOST_FAULTS:,} more faults\n", _QUIET))
    for finding in lane.verdict.get("against_recording", [])[:_MOST_FAULTS]:
        spans.append((f"≠ {wrapped(finding['message'][:1000], width, '  ')}\n", _QUIET))
    return [*spans, "\n"] if spans else []


def _alarms(lane: LaneTurn, width: int) -> Spans:
    spans: Spans = []
    for alarm in lane.alarms:
        finding = alarm["finding"]
        if finding.get("level") != "collapsed":
            continue
        said = f"“{finding.get('unit')}” again and again"
        what = "the stream was stopped" if alarm["stopped"] else "left running, to see how it goes on"
        spans += [
            (f"≋ COLLAPSED from character {finding.get('onset')} on", "bold $error"),
            (f"\n  {finding.get('kind')}, {what}\n", _QUIET),
            (f"  {wrapped(said, width, '  ')}\n\n", "italic"),
        ]
    return spans


def _answer(reply: JsonObject, recorded: str, width: int) -> Spans:
    spans: Spans = [("answer", _TITLE)]
    said = replayed_text(reply, call_text)
    fault = reply.get("fault")
    if not said and fault:
        return [*spans, "\n", (f"! {fault['kind']}: {fault['message'][:1000]}\n\n", "$error")]
    shown = marked(cut(recorded), cut(said))
    count = differences(shown)
    note = f"  {count} words differ from the recording" if count else "  word for word as recorded"
    finish = reply.get("finish_reason")
    spans += [(f"{note}\n", _QUIET), *hanging(tinted(shown), width), "\n"]
    if fault:
        spans.append((f"! {fault['kind']}: {fault['message'][:1000]}\n", "$error"))
    why = "no finish reason came" if finish is None else f"finish reason: {finish}"
    return [*spans, (f"{why}\n\n", _QUIET)]


def recorded_results(detail: TurnDetail, width: int, *, unfolded: bool) -> Spans:
    """What came of the recorded calls: a line each, or in full."""
    spans: Spans = []
    for item in detail.recorded:
        if not isinstance(item, ToolCallItem) or item.call_id not in detail.results:
            continue
        output = detail.results[item.call_id]
        spans += [("↺ ", _QUIET), f"{wrapped(f'{item.name} · {size_words(output)}', width, '  ')}\n"]
        spans += _output(output) if unfolded else []
    title: Spans = [("\nresults of its calls", _TITLE), ("\n" if unfolded else "  o unfolds\n", _QUIET)]
    return [*title, *spans] if spans else []


def _output(output: str) -> Spans:
    return [(f"  │ {line}\n", _QUIET) for line in cut(output).splitlines()[:_UNFOLDED_LINES]]


def _results(lane: LaneTurn, recorded: Mapping[str, str], width: int, *, unfolded: bool) -> Spans:
    if not lane.tool_runs:
        return []
    spans: Spans = [("results of its calls", _TITLE), ("\n" if unfolded else "  o unfolds\n", _QUIET)]
    calls = {
        call.get("index", place): call for place, call in enumerate((lane.reply or {}).get("tool_calls", ()))
    }
    for run in lane.tool_runs:
        sign, style, words = outcome_words(run["outcome"], run.get("exit_code"))
        against = AGAINST.get(run.get("against_recorded") or "", "")
        output = run.get("output", "")
        said = f"{run.get('name')} {words} · {size_words(output)}{against and f' · {against}'}"
        spans += [(f"{sign} ", style), f"{wrapped(said, width, '  ')}\n"]
        call = calls.get(run["call_index"], {})
        before = recorded.get(same_call(call.get("name"), call.get("arguments")))
        if run.get("against_recorded") == "different" and before is not None:
            spans += _result_diff(before, output)
        elif unfolded:
            spans += _output(output)
    return [*spans, "\n"]


def _result_diff(before: str, output: str) -> Spans:
    """The changed lines of a result, recorded ones first."""
    lines = list(unified_diff(cut(before).splitlines(), cut(output).splitlines(), n=0, lineterm=""))[2:]
    changed = [line for line in lines if not line.startswith("@@")]
    sides = {"-": ("recorded", THERE), "+": ("now     ", HERE)}
    shown = ((*sides[line[0]], line[1:]) for line in changed[:_OUTPUT_LINES])
    spans: Spans = [(f"  │ {side} {said}\n", style) for side, style, said in shown]
    if len(changed) > _OUTPUT_LINES:
        spans.append((f"  │ … {len(changed) - _OUTPUT_LINES} more lines differ\n", _QUIET))
    return spans


def _timing(reply: JsonObject, width: int) -> Spans:
    gaps = [gap / 1000 for gap in gaps_us(reply.get("arrivals", ""))]
    ttft, total = reply.get("ttft_ns"), reply["total_ns"] / 1e6
    first = f"{DASH} to the first token (none came)"
    if ttft is not None:
        first = f"{ttft / 1e6:,.0f} ms to the first token"
    spans: Spans = [("timing", _TITLE), (f"  {first}, {total:,.0f} ms in all\n", _QUIET)]
    if is_stalled(reply.get("lag_ns", 0), reply.get("busy", False)):
        spans.append(("this machine was too busy just then: these times count in no figure\n", "$warning"))
    if len(gaps) > 1:
        spans += _arrivals(gaps, total, (ttft or 0) / 1e6, max(10, min(width - 2, 60)))
        between = sorted(gaps[1:])
        middle, longest = between[len(between) // 2], between[-1]
        spans.append(f"{len(gaps):,} deltas, {middle:,.1f} ms apart (median), {longest:,.0f} ms at most\n")
    return [*spans, *_tokens(reply), "\n"]


def _arrivals(gaps: list[float], total: float, ttft: float, width: int) -> Spans:
    """Deltas that arrived in each slice of the reply's time, behind the wait for the first token."""
    counts = [0] * width
    at = 0.0
    for gap in gaps:
        at += gap
        counts[min(width - 1, int(at / max(total, at) * width))] += 1
    *above, last = plot([float(count) or None for count in counts], width, _PLOT_HEIGHT)
    wait = min(width, int(ttft / max(total, at) * width))
    wait = min(wait, width - len(last.lstrip()))
    axis = "0" + f"{total:,.0f} ms".rjust(width - 1)
    return [
        ("\n".join(above) + "\n", "$secondary"),
        ("╌" * wait, _QUIET),
        (f"{last[wait:]}\n", "$secondary"),
        (f"{axis}\n", _QUIET),
    ]


def _tokens(reply: JsonObject) -> Spans:
    usage = reply.get("usage") or {}
    if reply.get("usage_source") == "none":
        return [(f"tokens: {DASH} the reply carried no usage\n", _QUIET)]
    counts = [f"{count(usage.get(f'{name}_tokens'))} {name}" for name in ("prompt", "cached", "completion")]
    source = "counted here" if reply.get("usage_source") == "computed" else "usage"
    dash = f" ({DASH}: not reported)" if any(count.startswith(DASH) for count in counts) else ""
    return [f"tokens: {', '.join(counts)}", (f"  {source}{dash}\n", _QUIET)]


def cut(text: str) -> str:
    """Its start and its end, where it has more characters or lines than anybody reads here."""
    text = _middle_out(text, MOST_CHARS)
    if text.count("\n") > _MOST_LINES:
        lines = text.split("\n")
        half = _MOST_LINES // 2
        lines[half:-half] = [f"… {len(lines) - _MOST_LINES:,} lines left out …"]
        text = "\n".join(lines)
    return safe(text)


_MESSAGE_CHARS = 4_000


def asked_of(detail: TurnDetail, lane: str | None) -> tuple[Asked, bool]:
    """The lane's own request where it was sent its own history, else the recorded one; and whether it is its own."""
    found = detail.lanes.get(lane) if lane is not None else None
    if found is not None and found.asked is not None:
        return found.asked, True
    return Asked(detail.new_messages, len(detail.messages), detail.dropped), False


def change_words(asked: Asked, *, first: bool) -> str:
    """What makes this request another one than that of the turn before."""
    if first:
        return f"the first: {asked.total} messages"
    words = f"{len(asked.new)} new of {asked.total} messages since the turn before"
    return f"{words}, {asked.dropped} rewritten or dropped" if asked.dropped else words


def request_text(asked: Asked, note: str) -> list[Span]:
    """The new messages; `note` says what the request shown is not."""
    spans: list[Span] = [(f"{note}\n", "$warning")] if note else []
    for message in asked.new:
        text = _message_text(message)
        gap = "\n" if "\n" in text else "  "
        spans += [(f"{message.get('role', '?')}{gap}", "bold $primary"), *tinted([(f"{text}\n", "")])]
    return spans


def _message_text(message: JsonObject) -> str:
    body = message.get("content")
    parts = [body if isinstance(body, str) else "" if body is None else _parts_text(body)]
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        parts.append(call_text(function.get("name"), function.get("arguments")))
    return _middle_out("\n".join(part.strip("\n") for part in parts if part), _MESSAGE_CHARS)


def _middle_out(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n… {len(text) - most:,} characters left out …\n{text[-(most // 2) :]}"


def _parts_text(parts: Sequence[object]) -> str:
    """Text parts as text, other parts by their type."""
    blocks = (part if isinstance(part, dict) else {} for part in parts)
    return "\n".join(str(part.get("text") or f"({part.get('type', 'part')})") for part in blocks)
