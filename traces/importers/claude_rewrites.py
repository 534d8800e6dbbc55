"""What Claude Code changed in prompts that it had sent before: kept messages behind a summary, results taken out."""

from __future__ import annotations

from replayer.traces.importers.builder import Builder
from replayer.traces.importers.claude_graph import NONE, Graph
from replayer.traces.importers.values import as_dict, as_list, as_str, dicts
from replayer.wire.types import JsonObject

_CLEARED = "[Old tool result content cleared]"


class Rewrites:
    """The lines that say so. All of them change the prompts that follow and no line that stands above."""

    def __init__(self, builder: Builder, graph: Graph) -> None:
        self._builder, self._graph = builder, graph
        self._kept: JsonObject = {}

    def compacted(self, boundary: JsonObject) -> None:
        """A compaction may leave the last messages as they were: they stand behind its boundary or its summary."""
        self._kept = as_dict(as_dict(boundary.get("compactMetadata")).get("preservedSegment"))
        self.linked(boundary)

    def follows(self, summary: JsonObject) -> bool:
        """Whether a summary stands behind kept messages, instead of before them."""
        anchor = as_str(self._kept.get("anchorUuid"))
        return bool(anchor) and anchor == summary.get("parentUuid")

    def linked(self, line: JsonObject) -> None:
        anchor = as_str(line.get("uuid"))
        if anchor and self._kept.get("anchorUuid") == anchor:
            self._graph.keep(as_str(self._kept.get("headUuid")), as_str(self._kept.get("tailUuid")), anchor)

    def cleared(self, boundary: JsonObject, line: int) -> None:
        """Results that the prompts behind a line no longer hold."""
        calls = as_list(as_dict(boundary.get("microcompactMetadata")).get("compactedToolIds"))
        found = {call: self._result(call) for call in calls if isinstance(call, str)}
        self._graph.cleared[line] = {
            result: self._builder.result(call, _CLEARED) for call, result in found.items() if result != NONE
        }

    def replaced(self, record: JsonObject) -> None:
        """Results too long for a prompt: the model saw a text instead, and the line of the result holds all of it."""
        for one in dicts(record.get("replacements")):
            call, text = as_str(one.get("toolUseId")), one.get("replacement")
            result = self._result(call)
            if isinstance(text, str) and result != NONE:
                self._graph.instead[result] = self._builder.result(call, text)

    def _result(self, call: str) -> int:
        return self._graph.result(self._builder.call_number(call))
