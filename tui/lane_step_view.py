"""One lane's part of a step as text: verdict, prefix cache, answer, results of its calls, timing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import unified_diff
from typing import Any

import orjson
from rich.cells import cell_len

from replayer.packing import gaps_us
from replayer.signals.prefix_reuse.causes import FIXES, PHRASES
from replayer.step_detail import LaneStep
from replayer.tools.partial import PartialCall
from replayer.traces.schema import AnyItem, AssistantItem, ReasoningItem, ToolCallItem, ToolResultItem
from replayer.tui.cards import AGAINST, outcome_words
from replayer.tui.marked import HERE, THERE, changed_middle, differences, marked
from replayer.tui.text import DASH, Span, plot, safe, size_words, wrapped

Spans = list[Span | str]

MOST_CHARS = 20_000
"""Of one answer; a reply of a megabyte is nothing that anybody reads here."""
_OUTPUT_LINES = 12
_PLOT_HEIGHT = 4
_LABEL = 8
_QUIET = "$foreground-muted"
_TITLE = "bold $primary"


def lane_text(
    lane: LaneStep, recorded: str, results: Mapping[str, str], width: int, *, unfolded: bool
) -> Spans:
    """All that is known of the step on this lane; a lost prefix stands above the answer, a healthy one below.

    `results` are the recorded results of the turn's calls by NAME and arguments (`call_text`).
    """
    if lane.reply is None:
        return [("still streaming", _QUIET)]
    prefix, lost = prefix_text(lane.finding("prefix_reuse"), width)
    return [
        *_verdict(lane, width),
        *_alarms(lane, width),
        *(prefix if lost else []),
        *_answer(lane.reply, recorded),
        *_results(lane, results, width, unfolded=unfolded),
        *_timing(lane.reply, width),
        *([] if lost else prefix),
    ]


def _verdict(lane: LaneStep, width: int) -> Spans:
    if lane.verdict is None:
        return [("○ not judged\n\n", _QUIET)]
    usable = lane.verdict["usable"]
    spans: Spans = [("● USABLE\n", "bold $success") if usable else ("✗ NOT USABLE\n", "bold $error")]
    for fault in lane.verdict["faults"]:
        sign, style = ("✘", "$error") if fault["fatal"] else ("△", "$warning")
        where = f" at {fault['path']}" if fault.get("path") else ""
        call = f" in call {fault['call_index'] + 1}" if fault.get("call_index") is not None else ""
        spans += [(f"{sign} {fault['klass']}{where}{call}", f"bold {style}")]
        spans += [(f"  blame: {fault['blame']}\n", _QUIET)]
        if not (fault["klass"] == "collapsed" and lane.alarms):
            spans.append(f"  {wrapped(fault['message'][:1000], width, '  ')}\n")
    for finding in lane.verdict.get("against_recording", ()):
        spans.append((f"≠ {wrapped(finding['message'][:1000], width, '  ')}\n", _QUIET))
    return [*spans, "\n"]


def _alarms(lane: LaneStep, width: int) -> Spans:
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


def prefix_text(found: dict[str, Any] | None, width: int) -> tuple[Spans, bool]:
    """What was reused of the prompt, and whether anything was lost that need not have been."""
    if found is None:
        return [
            ("prefix cache\n", _TITLE),
            (f"{DASH} nothing was worked out for this step\n\n", _QUIET),
        ], False
    prompt, reported = found.get("prompt_tokens") or 0, found.get("reported_tokens")
    lost, cause = found.get("lost_tokens") or 0, str(found.get("cause") or "")
    reused = f"{DASH} reused (not reported)" if reported is None else f"{reported:,} reused"
    counts = f"{reused}, {found.get('ideal_tokens', 0):,} possible, of {prompt:,} prompt tokens"
    if not lost:
        why = f"{wrapped(PHRASES.get(cause, cause), width)}\n" if cause else ""
        return [("prefix cache\n", _TITLE), f"{wrapped(counts, width)}\n", (why, _QUIET), "\n"], False
    why = PHRASES.get(cause, cause)
    detail = f" ({found['detail']})" if found.get("detail") else ""
    spans: Spans = [
        (f"↯ PREFIX LOST: {cause.replace('_', ' ')}\n", "bold $warning"),
        *_labelled("lost", f"{lost:,} of {prompt:,} prompt tokens were computed again", width),
        *_labelled("why", f"{why}{detail}", width),
        *_place(found, width),
        *_excerpts(found, width),
        *(_labelled("remedy", FIXES[cause], width) if cause in FIXES else []),
        *_labelled("tokens", counts, width),
        "\n",
    ]
    return spans, True


def _labelled(label: str, text: str, width: int) -> Spans:
    """A line `label  text`, folded beside its label."""
    return [(f"{label:<{_LABEL}}", _QUIET), f"{wrapped(text, width, ' ' * _LABEL)}\n"]


def _place(found: dict[str, Any], width: int) -> Spans:
    if found.get("path") is None:
        return []
    offset = "" if found.get("offset") is None else f", from character {found['offset'] + 1} on"
    return _labelled("where", f"{found['path'] or 'the start'}{offset}", width)


def _excerpts(found: dict[str, Any], width: int) -> Spans:
    """Both excerpts, one above the other, with what differs between them."""
    before, after = found.get("excerpt_before") or "", found.get("excerpt_after") or ""
    if not (before or after):
        return []
    spans: Spans = []
    for label, (start, middle, end), style in zip(
        ("before", "now"), changed_middle(before, after), (THERE, HERE), strict=True
    ):
        room = max(8, width - _LABEL - cell_len(safe(middle)) - 2)
        head, tail = start[-(room // 2) :], end[: room - room // 2]
        spans += [(f"{label:<{_LABEL}}", _QUIET), _one_line(head)]
        spans += [(_one_line(middle) or "∅", style), _one_line(tail), "\n"]
    return spans


def _one_line(text: str) -> str:
    return text.replace("\n", "⏎").replace("\t", " ")


def _answer(reply: dict[str, Any], recorded: str) -> Spans:
    spans: Spans = [("answer", _TITLE)]
    said = said_text(reply)
    fault = reply.get("fault")
    if not said and fault:
        return [*spans, "\n", (f"! {fault['kind']}: {fault['message'][:1000]}\n\n", "$error")]
    shown = marked(cut(recorded), cut(said))
    count = differences(shown)
    note = f"  {count} words differ from the recording" if count else "  word for word as recorded"
    finish = reply.get("finish_reason")
    spans += [(f"{note}\n", _QUIET), *shown, "\n"]
    if fault:
        spans.append((f"! {fault['kind']}: {fault['message'][:1000]}\n", "$error"))
    why = "no finish reason came" if finish is None else f"finish reason: {finish}"
    return [*spans, (f"{why}\n\n", _QUIET)]


def said_text(reply: dict[str, Any]) -> str:
    parts = [reply.get("reasoning") or "", reply.get("content") or ""]
    parts += [call_text(call.get("name"), call.get("arguments")) for call in reply["tool_calls"]]
    return "\n".join(part.strip("\n") for part in parts if part)


def recorded_text(items: Iterable[AnyItem]) -> str:
    """The recorded answer as one text: thoughts, words, calls."""
    lines = []
    for item in items:
        match item:
            case AssistantItem() | ReasoningItem():
                lines.append(item.text.strip("\n"))
            case ToolCallItem():
                lines.append(call_text(item.name, item.arguments))
            case ToolResultItem():
                pass
            case _:
                lines.append(f"({item.kind})")
    return "\n".join(line for line in lines if line)


def call_text(name: str | None, arguments: str | None) -> str:
    """A call, one argument a line; the raw text where it is no object."""
    raw = arguments or ""
    value = PartialCall(0, name or "", [raw]).value
    if not isinstance(value, dict):
        return f"⚒ {name}  {raw}"
    return "\n".join([f"⚒ {name}", *(f"  {key}: {_shown(found)}" for key, found in value.items())])


def _shown(value: Any) -> str:
    """Strings as they are, so that code reads as code; everything else as JSON."""
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return text.replace("\n", "\n    ")


def _results(lane: LaneStep, recorded: Mapping[str, str], width: int, *, unfolded: bool) -> Spans:
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
        before = recorded.get(call_text(call.get("name"), call.get("arguments")))
        if run.get("against_recorded") == "different" and before is not None:
            spans += _result_diff(before, output)
        elif unfolded:
            spans += [(f"  │ {line}\n", _QUIET) for line in output.splitlines()[:200]]
    return [*spans, "\n"]


def _result_diff(before: str, output: str) -> Spans:
    """The changed lines of a result, recorded ones first."""
    lines = list(unified_diff(before.splitlines(), output.splitlines(), n=0, lineterm=""))[2:]
    changed = [line for line in lines if not line.startswith("@@")]
    spans: Spans = [
        (
            f"  │ {'recorded' if line[0] == '-' else 'now     '} {line[1:]}\n",
            THERE if line[0] == "-" else HERE,
        )
        for line in changed[:_OUTPUT_LINES]
    ]
    if len(changed) > _OUTPUT_LINES:
        spans.append((f"  │ … {len(changed) - _OUTPUT_LINES} more lines differ\n", _QUIET))
    return spans


def _timing(reply: dict[str, Any], width: int) -> Spans:
    gaps = [gap / 1000 for gap in gaps_us(reply.get("arrivals", ""))]
    ttft, total = reply.get("ttft_ns"), reply["total_ns"] / 1e6
    first = (
        f"{DASH} to the first token (none came)"
        if ttft is None
        else f"{ttft / 1e6:,.0f} ms to the first token"
    )
    spans: Spans = [("timing", _TITLE), (f"  {first}, {total:,.0f} ms in all\n", _QUIET)]
    if len(gaps) > 1:
        spans += _arrivals(gaps, total, max(10, min(width - 2, 60)))
        between = sorted(gaps[1:])
        middle, longest = between[len(between) // 2], between[-1]
        spans.append(f"{len(gaps):,} deltas, {middle:,.1f} ms apart (median), {longest:,.0f} ms at most\n")
    return [*spans, *_tokens(reply), "\n"]


def _arrivals(gaps: list[float], total: float, width: int) -> Spans:
    """Deltas that arrived in each slice of the reply's time."""
    counts = [0] * width
    at = 0.0
    for gap in gaps:
        at += gap
        counts[min(width - 1, int(at / max(total, at) * width))] += 1
    lines = plot([float(count) or None for count in counts], width, _PLOT_HEIGHT)
    end = f"{total:,.0f} ms"
    axis = "0" + end.rjust(width - 1)
    return [("\n".join(lines) + "\n", "$secondary"), (f"{axis}\n", _QUIET)]


def _tokens(reply: dict[str, Any]) -> Spans:
    usage = reply.get("usage") or {}
    if reply.get("usage_source") == "none":
        return [(f"tokens: {DASH} the reply carried no usage\n", _QUIET)]
    counts = [f"{_count(usage.get(f'{name}_tokens'))} {name}" for name in ("prompt", "cached", "completion")]
    source = "counted here" if reply.get("usage_source") == "computed" else "usage"
    dash = f" ({DASH}: not reported)" if any(count.startswith(DASH) for count in counts) else ""
    return [f"tokens: {', '.join(counts)}", (f"  {source}{dash}\n", _QUIET)]


def _count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


def cut(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return safe(text)
    half = MOST_CHARS // 2
    return safe(f"{text[:half]}\n… {len(text) - MOST_CHARS:,} characters left out …\n{text[-half:]}")
