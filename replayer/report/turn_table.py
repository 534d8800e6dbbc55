"""The turns of a run as data for the page's table: a short row each, and what is quoted of some of them.

Everything here is foreign text: it travels as JSON and is shown as text by the page's script.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from replayer.journal.lane_turn import LaneTurn
from replayer.journal.turns import Attempt, TurnFacts
from replayer.journal.view import LaneView
from replayer.metrics.shown import fault_words
from replayer.metrics.turn_values import has_collapsed
from replayer.report.evidence import Evidence, troubled
from replayer.signals.prefix_reuse.causes import FIXES, PHRASES
from replayer.text import safe
from replayer.traces.answer_text import recorded_text, replayed_text
from replayer.wire.types import Json, JsonObject

MOST_ROWS = 20_000
"""Sound turns in the table; those with a fault are all there."""
QUOTED_CHARS = 3_000_000
"""Of all quotes together, so that a page of 100,000 turns stays under 10 MB."""
LEAST_CHARS, MOST_CHARS = 300, 4_000
"""Of one text; the middle is left out."""
_MOST_FAULTS = 12


def session_name(trace: str, repeat: int) -> str:
    """In links: the second repeat of `t` is `t~2`."""
    return f"{trace}~{repeat + 1}" if repeat else trace


def turn_data(evidence: Evidence) -> JsonObject:
    """`rows`: lane, session, turn, outcome, how bad (0 sound to 2), TTFT ms, tok/s, reused, tokens, why lost."""
    lanes = evidence.view.lanes
    sessions = Numbered()
    words = Numbered()
    kept, left_out = _kept(lanes)
    rows = [
        _row(place, sessions[session_name(attempt.trace, attempt.repeat)], turn, words)
        for place, attempt, turn in kept
    ]
    quotes = {
        f"{place}.{sessions[session_name(at.trace, at.repeat)]}.{at.turn + 1}": answer
        for place, lane in enumerate(lanes)
        for at in evidence.positions
        if (answer := evidence.answers.get((lane.name, at))) is not None and answer.reply is not None
    }
    most, every = _room(len(quotes))
    faults = Numbered()
    quoted = {
        key: _quote(answer, faults, 0 if number % every else most)
        for number, (key, answer) in enumerate(quotes.items())
    }
    recorded = {
        f"{sessions[session_name(at.trace, at.repeat)]}.{at.turn + 1}": clip(
            recorded_text(items, call_text), most
        )
        for at, items in evidence.recorded.items()
    }
    return {
        "run": safe(evidence.view.run) if len(evidence.versions) == 1 else None,
        "lanes": [safe(lane.name) for lane in lanes],
        "sessions": sessions.names(),
        "words": words.names(),
        "rows": rows,
        "faults": [json.loads(fault) for fault in faults],
        "quotes": quoted,
        "recorded": recorded,
        "left_out": left_out,
    }


class Numbered(dict[str, int]):
    """Words by number: a row of a table is then a list of numbers."""

    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        return self[word]

    def names(self) -> list[str]:
        return [safe(word) for word in self]


def _kept(lanes: Iterable[LaneView]) -> tuple[list[tuple[int, Attempt, TurnFacts]], int]:
    """Every turn with a fault, and of the others evenly as many as there is room for."""
    every = [
        (place, attempt, attempt.turns[number])
        for place, lane in enumerate(lanes)
        for attempt in sorted(lane.attempts, key=lambda one: (one.trace, one.repeat))
        for number in sorted(attempt.turns)
    ]
    sound = sum(not troubled(turn) for *_, turn in every)
    if sound <= MOST_ROWS:
        return every, 0
    apart, seen, kept = sound / MOST_ROWS, 0, []
    for one in every:
        if troubled(one[2]):
            kept.append(one)
            continue
        if int(seen / apart) != int((seen - 1) / apart) or not seen:
            kept.append(one)
        seen += 1
    return kept, len(every) - len(kept)


def _row(lane: int, session: int, turn: TurnFacts, words: Numbered) -> list[float | None]:
    reused = None
    if turn.cached_tokens is not None and turn.prompt_tokens:
        reused = round(turn.cached_tokens / turn.prompt_tokens, 4)
    found, bad = outcome(turn)
    prefix = turn.prefix or {}
    lost = str(prefix.get("cause")) if prefix.get("lost_tokens") else ""
    return [
        lane, session, turn.turn + 1, words[found], bad, None if turn.ttft_ns is None else round(turn.ttft_ns / 1e6, 1),
        turn.decode_tok_s and round(turn.decode_tok_s, 1), reused, turn.completion_tokens,
        words[PHRASES.get(lost, lost)],
    ]  # fmt: skip


def outcome(turn: TurnFacts) -> tuple[str, int]:
    """The worst that can be said of a turn, in the screen's words, and how bad it is."""
    if turn.total_ns is None:
        return "not finished", 1
    if turn.error is not None:
        return turn.error.replace("_", " "), 2
    if has_collapsed(turn):
        return "collapsed", 2
    if turn.usable is None:
        return "not judged", 1
    classes = ", ".join(map(fault_words, turn.faults))
    if not turn.usable:
        return classes or "not usable", 2
    return (f"usable; {classes}", 1) if classes else ("usable", 0)


def _room(quotes: int) -> tuple[int, int]:
    """Characters of one text, of which a turn has two, and every how manieth turn has them."""
    each = QUOTED_CHARS // max(1, 2 * quotes)
    return max(LEAST_CHARS, min(MOST_CHARS, each)), max(1, -(-LEAST_CHARS // max(1, each)))


def clip(words: str, most: int = MOST_CHARS) -> str:
    words = safe(words)
    if len(words) <= most:
        return words
    return f"{words[: most * 2 // 3]}\n[… {len(words) - most:,} characters left out …]\n{words[-most // 3 :]}"


def _quote(answer: LaneTurn, faults: Numbered, most: int) -> JsonObject:
    """`said` is left out where there is no room for texts: the faults are there in every case."""
    reply = answer.reply or {}
    found = {
        "faults": [faults[json.dumps(fault, ensure_ascii=False)] for fault in _faults(answer)],
        "notes": [*_alarms(answer), *_prefix(answer.finding("prefix_reuse") or {}), *_tools(answer)],
        "timing": _timing(reply),
    }
    return {key: value for key, value in found.items() if value} | (
        {"said": clip(replayed_text(reply, call_text), most)} if most else {}
    )


def _faults(answer: LaneTurn) -> Iterator[list[Json]]:
    """Fatal or not, what and where, blame, message."""
    verdict, error = answer.verdict or {}, (answer.reply or {}).get("fault")
    if error:
        yield [True, str(error["kind"]), "engine", clip(str(error.get("message", "")), 400)]
    for fault in verdict.get("faults", ())[:_MOST_FAULTS]:
        where = f" at {fault['path']}" if fault.get("path") else ""
        call = f" in call {fault['call_index'] + 1}" if fault.get("call_index") is not None else ""
        words = clip(f"{fault_words(fault['klass'])}{where}{call}", 200)
        known = fault["klass"] == "collapsed" and answer.alarms  # the alarm has more
        yield [
            bool(fault["fatal"]),
            words,
            str(fault["blame"]),
            "" if known else clip(str(fault["message"]), 400),
        ]
    for finding in verdict.get("against_recording", ())[:_MOST_FAULTS]:
        yield [False, "against the recording", "", clip(str(finding["message"]), 400)]


def _alarms(answer: LaneTurn) -> Iterator[str]:
    for alarm in answer.alarms:
        finding = alarm["finding"]
        if finding.get("level") == "collapsed":
            what = "the stream was stopped" if alarm["stopped"] else "left running, to see how it goes on"
            unit = clip(str(finding.get("unit", "")), 160)
            yield f"Collapsed from character {finding.get('onset')} on: {finding.get('kind')}, {what}. “{unit}” again and again."


def _prefix(found: JsonObject) -> Iterator[str]:
    """What was reused; where something was lost, why, on what evidence, and what helps."""
    prompt, reported, lost = (
        found.get("prompt_tokens"),
        found.get("reported_tokens"),
        found.get("lost_tokens"),
    )
    if not prompt:
        return
    reused = "reuse was not reported" if reported is None else f"{reported:,} tokens were reused"
    possible = f"{found.get('ideal_tokens') or 0:,} of {prompt:,} prompt tokens were possible"
    yield f"Prefix cache: {reused}; {possible}."
    if not lost:
        return
    cause = str(found.get("cause"))
    detail = f" ({clip(str(found['detail']), 200)})" if found.get("detail") else ""
    yield f"Prefix lost, {lost:,} tokens computed again: {PHRASES.get(cause, cause)}{detail}."
    for fact in found.get("evidence", ()):
        yield f"Evidence: {clip(str(fact), 300)}."
    if found.get("excerpt_before") or found.get("excerpt_after"):
        before, now = (clip(str(found.get(f"excerpt_{when}", "")), 160) for when in ("before", "after"))
        yield f"Before: {before} – now: {now}"
    if cause in FIXES:
        yield f"Remedy: {FIXES[cause]}."


def _tools(answer: LaneTurn) -> Iterator[str]:
    for run in answer.tool_runs[:_MOST_FAULTS]:
        against = (
            f", {run['against_recorded']} from the recording"
            if run.get("against_recorded") == "different"
            else ""
        )
        yield f"Tool {clip(str(run.get('name')), 80)}: {str(run['outcome']).replace('_', ' ')}{against}."


def _timing(reply: JsonObject) -> str:
    usage = reply.get("usage") or {}
    parts = [
        f"{reply['total_ns'] / 1e6:,.0f} ms",
        f"finish reason {clip(str(reply.get('finish_reason') or 'unknown'), 40)}",
    ]
    if reply.get("ttft_ns") is not None:
        parts.insert(0, f"first token {reply['ttft_ns'] / 1e6:,.0f} ms")
    if usage.get("completion_tokens") is not None:
        parts.append(f"{usage['completion_tokens']:,} tokens")
    if reply.get("stopped_by_us"):
        parts.append(f"stopped by {reply['stopped_by_us']}")
    return " · ".join(parts)


def call_text(name: str | None, raw: str | None) -> str:
    """A line with the name and one an argument, so that a comparison by lines shows which argument differs."""
    try:
        arguments = json.loads(raw or "")
        lines = [f"  {key}: {_value(value)}" for key, value in arguments.items()]
    except (ValueError, AttributeError, RecursionError):  # no JSON, no object, or one nested without end
        return f"⚒ {name}  {raw or ''}".rstrip()
    return "\n".join([f"⚒ {name}", *lines])


def _value(value: object) -> str:
    return value.replace("\n", "\n    ") if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
