"""Zed's "Open thread as markdown": best effort, because text can contain the same marks.

Projection P: texts, thinking, calls (argument text derived), results; the error flag where it was printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from operator import itemgetter

from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import compact, loads
from replayer.traces.importers.zed_thread import COMPACTED, RESUME
from replayer.traces.schema import Fidelity

_HEADING = re.compile(r"^## (User|Assistant|Agent)\s*$", re.MULTILINE)
_CALL = re.compile(
    r"\*\*Tool Use\*\*: (?P<name>.+?) \(ID: (?P<id>[^)]*)\)\s*```json\n(?P<input>.*?)\n```", re.DOTALL
)
_RESULT = re.compile(r"\*\*Tool Result\*\*: (?P<name>.+?) \(ID: (?P<id>[^)]*)\)\s*")
_THINK = re.compile(r"<think>\n?(.*?)\n?</think>", re.DOTALL)
_DEBUG = re.compile(r"\*\*Debug Output\*\*:\s*```json\n.*?\n```\s*$", re.DOTALL)


class ZedMarkdown(Importer):
    format = "zed-markdown"
    fidelity = Fidelity(text="derived", arguments="derived", boundaries="derived")
    experimental = True

    def matches(self, probe: Probe) -> bool:
        return probe.shape == "text" and bool(_HEADING.search(probe.text))

    def write(self, builder: Builder, probe: Probe) -> None:
        builder.describe(agent="zed")
        builder.warn("Markdown exports are lossy; import threads.db or thread.json where you have them")
        context: list[int] = []
        sections = [(mark[1], body.strip()) for mark, body in _divided(_HEADING, probe.text)]
        for role, body in (
            *filter(itemgetter(1), sections[:-1]),
            *sections[-1:],
        ):  # some headings stand twice
            if role != "User":
                context = _agent(builder, body, context)
            elif body:
                context.append(builder.user(RESUME if body == "[resume]" else body))


def _divided(heading: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading with the text behind it."""
    marks = list(heading.finditer(text))
    for mark, following in zip_longest(marks, marks[1:]):
        yield mark, text[mark.end() : following.start() if following else len(text)]


def _agent(builder: Builder, body: str, context: list[int]) -> list[int]:
    said, _, rest = body.partition("--- Context Compacted ---")
    if rest:
        context = [builder.compaction(COMPACTED + rest.strip())]
    first = _RESULT.search(said)
    results = said[first.start() :] if first else ""
    produced = _produced(builder, said[: first.start()] if first else said)
    builder.turn(context, produced)
    return context + produced + list(_results(builder, results))


def _produced(builder: Builder, text: str) -> list[int]:
    items: list[int] = []
    position = 0
    for call in _CALL.finditer(text):
        items += _said(builder, text[position : call.start()])
        try:
            arguments = compact(loads(call["input"]))
        except ValueError:
            arguments = call["input"]
        items.append(builder.call(call["id"], call["name"], arguments))
        position = call.end()
    return items + _said(builder, text[position:])


def _said(builder: Builder, text: str) -> list[int]:
    items = [builder.reasoning(thought) for thought in _THINK.findall(text)]
    rest = _THINK.sub("", text).strip()
    return [*items, builder.assistant(rest)] if rest else items


def _results(builder: Builder, text: str) -> Iterator[int]:
    for mark, told in _divided(_RESULT, text):
        body = _DEBUG.sub("", told.strip()).strip()
        said, failed = body.removeprefix("**ERROR:**").strip(), body.startswith("**ERROR:**")
        yield builder.result(mark["id"], said, is_error=failed, name=mark["name"])
