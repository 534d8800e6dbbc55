"""JUnit XML for CI: a suite per lane with one case per session, and a suite for the run's own conditions."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from replayer.journal.turns import Attempt
from replayer.journal.view import RunView
from replayer.metrics.figures import run_figures
from replayer.report.evidence import Evidence
from replayer.text import safe

_XML_UNFIT = str.maketrans(dict.fromkeys("\ufffe\uffff", "\ufffd"))
_COUNTED = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}


def junit_report(evidence: Evidence) -> str:
    """A suite of the run's conditions, and one per lane with a case per session.

    Where the plan has conditions (`--fail-if`), they alone are red: what they allow is output only. Without any, a
    session fails when a turn was unusable and is in error when the engine was.
    """
    view = evidence.view
    root = Element("testsuites", name=clean(view.run))
    gated = bool(view.plan.get("fail_if"))
    _conditions(root, view)
    for lane in view.lanes:
        suite = SubElement(root, "testsuite", name=clean(lane.name))
        for attempt in sorted(lane.attempts, key=lambda attempt: (attempt.trace, attempt.repeat)):
            _session(suite, lane.name, attempt, gated=gated)
    return written(root)


def written(root: Element) -> str:
    """The document, its cases counted."""
    for name, path in _COUNTED.items():
        for suite in root:
            suite.set(name, str(len(suite.findall(path))))
        root.set(name, str(len(root.findall(f"testsuite/{path}"))))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, "unicode") + "\n"


def outcome(case: Element, kind: str, message: str, lines: Iterable[str] = ()) -> None:
    SubElement(case, kind, message=clean(message), type=kind).text = clean("\n".join(lines)) or None


def clean(words: str) -> str:
    return safe(words).translate(_XML_UNFIT)


def _conditions(root: Element, view: RunView) -> None:
    suite = SubElement(root, "testsuite", name="conditions")
    case = SubElement(suite, "testcase", classname="conditions", name="run")
    if view.reasons:
        outcome(case, "failure", f"{len(view.reasons)} broken", list(view.reasons))
    elif view.incomplete and view.stopped_early is None:
        words = [f"state {view.state}, {view.incomplete} sessions without a complete attempt"]
        outcome(case, "error", "the run is not complete", words)
    found = run_figures(view).conclusions.sentences()
    SubElement(suite, "system-out").text = clean("\n".join(found))


def _session(suite: Element, lane: str, attempt: Attempt, *, gated: bool) -> None:
    seconds = sum(turn.total_ns or 0 for turn in attempt.turns.values()) / 1e9
    name = f"{attempt.trace} repeat {attempt.repeat + 1}" if attempt.repeat else attempt.trace
    case = SubElement(suite, "testcase", classname=clean(lane), name=clean(name), time=f"{seconds:.3f}")
    turns = [attempt.turns[number] for number in sorted(attempt.turns)]
    errors = [f"turn {turn.turn + 1}: {turn.error}" for turn in turns if turn.error]
    bad = [turn for turn in turns if turn.usable is False and not turn.error]
    unusable = [f"turn {turn.turn + 1}: {', '.join(turn.fatal) or 'not usable'}" for turn in bad]
    if not attempt.complete:
        words = f"partial: {attempt.finished} of {attempt.planned} turns finished"
        outcome(case, "skipped", words, errors + unusable)
    elif gated:
        SubElement(case, "system-out").text = clean("\n".join(errors + unusable))
    elif errors:
        outcome(
            case, "error", f"{len(errors)} of {len(turns)} turns ended in an engine error", errors + unusable
        )
    elif unusable:
        outcome(case, "failure", f"{len(unusable)} of {len(turns)} turns unusable", unusable)
