"""A gate's answer for people and for CI: lines, Markdown, annotations, JUnit, JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from replayer.gate.decision import Check, Decision, Failure, headline
from replayer.metrics.catalogue import COMPARED
from replayer.metrics.shown import and_list, interval, with_unit
from replayer.report.junit import clean, outcome, written
from replayer.text import safe
from replayer.wire.types import JsonObject

_SHOWN = 5
"""Failing turns that are listed: enough to look at, few enough to read."""


def lines(found: Decision, lanes: Sequence[str], run: str) -> list[str]:
    """For the terminal: the answer first, then what is worse, what changed at the server, and where to look."""
    said = [headline(found, lanes)]
    said += [f"  worse: {check.pair.conclusion}; allowed: {check.margin}" for check in found.red]
    said += [f"  {words}" for words in _remarks(found)]
    if found.red:
        said += [f"  {_failure(one)}: {_repro(one, run)}" for one in found.failures[:_SHOWN]]
    return [safe(line) for line in said]


def _remarks(found: Decision) -> list[str]:
    """What limits the answer, and what else is different."""
    parts = (("not tested", found.untested), ("size", found.small), ("changed", found.changed))
    return [f"{what}: {words}" for what, some in parts for words in some]


def document(found: Decision, lanes: Sequence[str]) -> JsonObject:
    """As `compare --json`, with the gate's answer."""
    return {
        "red": bool(found.red),
        "headline": headline(found, lanes),
        "pairs": [check.pair for check in found.checks],
        "broken": [check.pair.conclusion for check in found.red],
        "untested": found.untested,
        "changed": found.changed,
        "small": found.small,
        "lost": found.lost,
        "failures": found.failures[:_SHOWN],
    }


def markdown(found: Decision, lanes: Sequence[str], run: str) -> str:
    """What CI systems show beside a job."""
    mark = "❌" if found.red else "✅" if found.checks and not found.lost else "⚠️"
    rows = [_row(check) for check in sorted(found.checks, key=lambda check: not check.red)]
    text = [f"## {mark} {_cell(headline(found, lanes))}", ""]
    text += ["| figure | baseline | now | difference | allowed | |", "|---|---:|---:|---|---|---|", *rows, ""]
    text += [f"- {_cell(words)}" for words in _remarks(found)]
    if found.red and found.failures:
        text += ["", "Turns to look at:", ""]
        text += [f"- {_cell(_failure(one))}: `{_cell(_repro(one, run))}`" for one in found.failures[:_SHOWN]]
    return "\n".join(text) + "\n"


def _row(check: Check) -> str:
    pair, metric = check.pair, COMPARED[check.pair.metric]
    values = (with_unit(metric, pair.value_a), with_unit(metric, pair.value_b))
    state = "**worse**" if check.red else check.state
    words = f"{pair.b}: {metric.label}"
    return f"| {_cell(words)} | {values[0]} | {values[1]} | {interval(metric, pair)} | {check.margin} | {state} |"


def _cell(text: str) -> str:
    return safe(text).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def _failure(one: Failure) -> str:
    again = f", repeat {one.repeat + 1}" if one.repeat else ""
    return f"{one.lane}, {one.trace}{again}, turn {one.turn + 1}: {one.fault} (blame: {one.blame})"


def _repro(one: Failure, run: str) -> str:
    return f"replayer repro {shlex.quote(run)} {one.trace}/{one.repeat + 1}/{one.turn + 1} {shlex.quote(one.lane)}"


def workflow_commands(found: Decision, run: str) -> list[str]:
    """GitHub's workflow commands: one for each figure that is worse, with the first turn to look at."""
    first = f" · first turn to look at: {_failure(found.failures[0])}" if found.failures else ""
    return [f"::error title=replayer gate::{_escaped(check.pair.conclusion + first)}" for check in found.red]


def _escaped(text: str) -> str:
    return safe(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def junit(found: Decision, lanes: Sequence[str], run: str) -> str:
    """A case per figure and lane: failed where it is worse, skipped where it could not be tested."""
    first = found.failures[:_SHOWN]
    root = Element("testsuites", name="replayer gate")
    suite = SubElement(root, "testsuite", name=clean(headline(found, lanes)))
    for words in found.lost:
        outcome(SubElement(suite, "testcase", classname="run", name="whole"), "error", words)
    for check in found.checks:
        case = SubElement(suite, "testcase", classname=clean(check.pair.b), name=check.pair.metric)
        if check.red:
            text = [f"allowed: {check.margin}", *(f"{_failure(one)}: {_repro(one, run)}" for one in first)]
            outcome(case, "failure", check.pair.conclusion, text)
    for words in found.untested:
        named = {"classname": clean(and_list(list(lanes))), "name": clean(words.partition(":")[0])}
        outcome(SubElement(suite, "testcase", named), "skipped", words)
    return written(root)
