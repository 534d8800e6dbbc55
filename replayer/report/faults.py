"""What broke, by class with examples, and collapses with their copies marked. The text of examples is foreign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup, escape

from replayer.journal.lane_turn import LaneTurn
from replayer.metrics.run_documents import RunFigures
from replayer.metrics.shown import fault_words
from replayer.report.charts import COLOURS
from replayer.report.evidence import Evidence, Position
from replayer.report.turn_table import clip, session_name
from replayer.text import safe
from replayer.wire.types import JsonObject

_EXAMPLES = 6
"""Of one class, shared by the lanes, three a lane at most."""
_BEFORE, _AFTER = 160, 700


@dataclass(frozen=True, slots=True)
class Example:
    """`lane` is the number of its colour; `text` a collapsed reply with its copies marked."""

    link: str
    place: str
    lane: int
    message: str
    text: Markup | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A fault class over all lanes; `turns` over all of them, `examples` of each lane."""

    words: str
    turns: int
    blame: str
    examples: list[Example]


def groups(evidence: Evidence, document: RunFigures) -> list[Group]:
    """The classes, most frequent first."""
    turns: Counter[str] = Counter()
    blames: dict[str, Counter[str]] = {}
    for lane in document.lanes:
        turns.update(lane.faults)
        for klass, by_blame in lane.faults_by_blame.items():
            blames.setdefault(klass, Counter()).update(by_blame)
    examples = _examples(evidence)
    if collapses := _collapses(evidence):
        examples["collapsed"] = collapses
        turns["collapsed"] = turns["collapsed"] or len(collapses)
    return [
        Group(fault_words(klass), count, _blame(blames.get(klass)), examples.get(klass, []))
        for klass, count in turns.most_common()
    ]


def _blame(counts: Counter[str] | None) -> str:
    """A class that cost no turn is a warning."""
    if not counts:
        return "none: a warning, the turns stayed usable"
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} in {count}" for name, count in counts.most_common())


def _examples(evidence: Evidence) -> dict[str, list[Example]]:
    found: dict[str, list[Example]] = {}
    seen: Counter[tuple[str, int]] = Counter()
    most = _each(evidence)
    for lane, at, answer in _answers(evidence):
        for fault in (answer.verdict or {}).get("faults", ()):
            klass = str(fault["klass"])
            if klass == "collapsed" or seen[klass, lane] >= most or len(found.get(klass, ())) >= _EXAMPLES:
                continue
            seen[klass, lane] += 1
            message = clip(str(fault["message"]), 300)
            found.setdefault(klass, []).append(_example(evidence, lane, at, message))
    return found


def _each(evidence: Evidence) -> int:
    """Examples of a lane."""
    return max(1, min(3, _EXAMPLES // max(1, len(evidence.view.lanes))))


def _answers(evidence: Evidence) -> Iterator[tuple[int, Position, LaneTurn]]:
    for number, lane in enumerate(evidence.view.lanes):
        for at in evidence.positions:
            answer = evidence.answers.get((lane.name, at))
            if answer is not None:
                yield number, at, answer


def _example(
    evidence: Evidence, lane: int, at: Position, message: str, text: Markup | None = None
) -> Example:
    name, session = evidence.view.lanes[lane].name, session_name(at.trace, at.repeat)
    link = "#" + "/".join(quote(safe(part), safe="!'()*~") for part in (name, session, str(at.turn + 1)))
    return Example(link, f"{name} · {session}, turn {at.turn + 1}", lane % COLOURS, message, text)


_SHOWN = {"kind", "channel", "onset", "detected_at", "period", "unit"}


def _collapses(evidence: Evidence) -> list[Example]:
    """The first few of each lane, the repeated unit marked."""
    seen: Counter[int] = Counter()
    shown: list[Example] = []
    for lane, at, answer in _answers(evidence):
        finding = _collapse(answer)
        if finding is not None and seen[lane] < _each(evidence) and len(shown) < _EXAMPLES:
            seen[lane] += 1
            text = marked(channel_text(answer.reply or {}, finding), finding["onset"], finding["period"])
            shown.append(_example(evidence, lane, at, _where(finding), text))
    return shown


def _collapse(answer: LaneTurn) -> JsonObject | None:
    """None also for a finding of a later version that lacks what is shown of one."""
    found: Iterator[JsonObject] = (
        alarm["finding"]
        for alarm in answer.alarms
        if alarm["finding"].get("level") == "collapsed" and alarm["finding"].keys() >= _SHOWN
    )
    return next(found, None) if answer.reply is not None else None


def _where(finding: JsonObject) -> str:
    period = f", {finding['period']} characters long" if finding["period"] else ""
    return (
        f"{finding['kind']} in {finding['channel']} from character {finding['onset']:,}, "
        f"noticed at {finding['detected_at']:,}{period}; repeated unit: “{clip(finding['unit'], 200)}”"
    )


def channel_text(reply: JsonObject, finding: JsonObject) -> str:
    """The text whose characters a finding counts."""
    if finding["channel"] in ("content", "reasoning"):
        return str(reply.get(finding["channel"], ""))
    calls = [call for call in reply.get("tool_calls", ()) if call["index"] == finding["call_index"]]
    return str(calls[0]["arguments"] or "") if calls else ""


def marked(words: str, onset: int, period: int | None) -> Markup:
    """Copies in turn in two shades; without a period, all since the onset in one."""
    start = max(0, onset - (period or 0))
    end = min(len(words), onset + _AFTER)
    size = period or max(1, end - start)
    copies = [words[at : min(at + size, end)] for at in range(start, end, size)]
    shades = (Markup("<mark>{}</mark>"), Markup('<mark class="other">{}</mark>'))
    made = [shades[number % 2].format(safe(copy)) for number, copy in enumerate(copies)]
    before = ("… " if start > _BEFORE else "") + words[max(0, start - _BEFORE) : start]
    rest = f"\n[… {len(words) - end:,} characters more …]" if end < len(words) else ""
    return Markup("").join([escape(safe(before)), *made, escape(rest)])
