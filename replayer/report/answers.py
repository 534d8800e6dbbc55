"""Quoted answers: the turn browser and the collapse examples. All of it is hostile text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from replayer.journal.turn_detail import LaneTurn
from replayer.report.evidence import Evidence, Position
from replayer.report.markup import Html, el, join, text
from replayer.report.svg import colour
from replayer.traces.schema import AnyItem, AssistantItem, ReasoningItem, ToolCallItem

MOST_CHARS = 2000
"""Of each text; the middle is left out."""
_EXAMPLES = 3
_BEFORE, _AFTER = 160, 700


def clip(words: str, most: int = MOST_CHARS) -> str:
    if len(words) <= most:
        return words
    return f"{words[: most * 2 // 3]}\n[… {len(words) - most:,} characters left out …]\n{words[-most // 3 :]}"


def turn_browser(evidence: Evidence) -> Html:
    """Sessions hold turns, a turn holds the recorded answer and each lane's."""
    names = [lane.name for lane in evidence.view.lanes]
    sessions = []
    for (trace, repeat), group in groupby(evidence.positions, lambda at: (at.trace, at.repeat)):
        turns = [_turn(evidence, position, names) for position in group]
        title = f"{trace}, repeat {repeat + 1}" if repeat else trace
        sessions.append(el("details", el("summary", f"{title}: {len(turns)} turns"), *turns))
    note = f"{evidence.left_out:,} turns are not quoted; those that a lane failed come first."
    return join(el("p", note, class_="soft") if evidence.left_out else None, *sessions)


def _turn(evidence: Evidence, position: Position, names: Sequence[str]) -> Html:
    found = [(number, name, evidence.answers.get((name, position))) for number, name in enumerate(names)]
    states = [el("span", f" · {name} {state(answer)}", class_=_tone(answer)) for _, name, answer in found]
    return el(
        "details",
        el("summary", f"turn {position.turn + 1}", *states),
        el(
            "div",
            el("section", el("h4", "recorded"), *_recorded(evidence.recorded[position])),
            *(el("section", *_answer(name, answer), class_=colour(number)) for number, name, answer in found),
            class_="answers",
        ),
    )


def state(answer: LaneTurn | None) -> str:
    """In few words: usable, or why not."""
    if answer is None or answer.reply is None:
        return "no answer"
    if answer.reply["fault"]:
        return str(answer.reply["fault"]["kind"])
    if answer.verdict is None:
        return "not judged"
    faults = dict.fromkeys(fault["klass"] for fault in answer.verdict["faults"] if fault["fatal"])
    return "usable" if answer.verdict["usable"] else ", ".join(faults) or "not usable"


def _tone(answer: LaneTurn | None) -> str:
    words = state(answer)
    return "ok" if words == "usable" else "soft" if words in ("no answer", "not judged") else "fault"


def _recorded(items: Iterable[AnyItem]) -> list[Html]:
    shown = []
    for item in items:
        match item:
            case AssistantItem():
                shown.append(el("pre", clip(item.text)))
            case ReasoningItem():
                shown += _labelled("reasoning", item.text)
            case ToolCallItem():
                shown += _labelled(f"call {item.name}", item.arguments)
            case _:
                pass
    return shown or [el("p", "nothing was recorded here", class_="soft")]


def _answer(name: str, answer: LaneTurn | None) -> list[Html]:
    heading = el("h4", name, ": ", el("span", state(answer), class_=_tone(answer)))
    if answer is None or answer.reply is None:
        return [heading]
    reply = answer.reply
    faults = answer.verdict["faults"] if answer.verdict else []
    shown = [heading, el("p", _timing(reply), class_="soft")]
    shown += [el("p", f"{fault['klass']}: {fault['message']}", class_="fault") for fault in faults]
    if reply["fault"]:
        shown.append(
            el(
                "p",
                f"{reply['fault']['kind']}: {clip(str(reply['fault'].get('message', '')), 400)}",
                class_="fault",
            )
        )
    if reply["reasoning"]:
        shown += _labelled("reasoning", reply["reasoning"])
    if reply["content"]:
        shown.append(el("pre", clip(reply["content"])))
    for call in reply["tool_calls"]:
        shown += _labelled(f"call {call['name']}", call["arguments"] or "")
    return shown


def _labelled(label: str, words: str) -> list[Html]:
    return [el("p", label, class_="soft"), el("pre", clip(words))]


def _timing(reply: dict[str, Any]) -> str:
    usage = reply["usage"] or {}
    parts = [f"{reply['total_ns'] / 1e6:,.0f} ms", f"finish {reply['finish_reason'] or 'unknown'}"]
    if reply["ttft_ns"] is not None:
        parts.insert(0, f"first token {reply['ttft_ns'] / 1e6:,.0f} ms")
    if usage.get("completion_tokens") is not None:
        parts.append(f"{usage['completion_tokens']:,} tokens")
    if reply["stopped_by_us"]:
        parts.append(f"stopped by {reply['stopped_by_us']}")
    return " · ".join(parts)


def collapse_examples(evidence: Evidence) -> Html | None:
    """The first few of each lane, the repeated unit marked; None where no quoted turn collapsed."""
    shown = []
    for number, lane in enumerate(evidence.view.lanes):
        mine = [
            (position, answer, finding)
            for (name, position), answer in sorted(evidence.answers.items(), key=lambda pair: pair[0])
            if name == lane.name and (finding := _collapse(answer)) is not None
        ]
        shown += [_example(lane.name, number, *found) for found in mine[:_EXAMPLES]]
    return el("div", *shown, class_="answers") if shown else None


_SHOWN = {"kind", "channel", "onset", "detected_at", "period", "unit"}


def _collapse(answer: LaneTurn) -> dict[str, Any] | None:
    """None also for a finding of a later version that lacks what is shown of one."""
    found = [
        alarm["finding"]
        for alarm in answer.alarms
        if alarm["finding"].get("level") == "collapsed" and alarm["finding"].keys() >= _SHOWN
    ]
    return found[0] if found and answer.reply is not None else None


def _example(lane: str, number: int, position: Position, answer: LaneTurn, finding: dict[str, Any]) -> Html:
    reply = answer.reply or {}
    where = f"{lane} · {position.trace}, turn {position.turn + 1}"
    period = f", {finding['period']} characters long" if finding["period"] else ""
    said = (
        f"{finding['kind']} in {finding['channel']} from character {finding['onset']:,}, "
        f"noticed at {finding['detected_at']:,}{period}"
    )
    return el(
        "section",
        el("h4", where),
        el("p", said, class_="soft"),
        el("pre", marked(channel_text(reply, finding), finding["onset"], finding["period"])),
        el("p", "repeated unit: ", el("code", json.dumps(clip(finding["unit"], 200), ensure_ascii=False))),
        class_=colour(number),
    )


def channel_text(reply: dict[str, Any], finding: dict[str, Any]) -> str:
    """The text whose characters a finding counts."""
    if finding["channel"] in ("content", "reasoning"):
        return str(reply.get(finding["channel"], ""))
    calls = [call for call in reply.get("tool_calls", ()) if call["index"] == finding["call_index"]]
    return str(calls[0]["arguments"] or "") if calls else ""


def marked(words: str, onset: int, period: int | None) -> Html:
    """Copies in turn in two shades; without a period, all since the onset in one."""
    start = max(0, onset - (period or 0))
    end = min(len(words), onset + _AFTER)
    before = words[max(0, start - _BEFORE) : start]
    size = period or max(1, end - start)
    copies = [words[at : min(at + size, end)] for at in range(start, end, size)]
    shades = [el("mark", copy, class_="other" if number % 2 else None) for number, copy in enumerate(copies)]
    rest = f"\n[… {len(words) - end:,} characters more …]" if end < len(words) else ""
    return join("… " if start > _BEFORE else "", before, *shades, text(rest))
