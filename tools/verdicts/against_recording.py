"""A reply's calls beside those of the recorded turn: secondary, never a fault."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.tools.verdicts.schema_check import CallCheck
from replayer.tools.verdicts.verdict import RecordingFinding
from replayer.traces.schema import AnyItem, ToolCallItem
from replayer.wire.types import Reply


def compare(
    reply: Reply, checks: Sequence[CallCheck], recorded: Sequence[AnyItem]
) -> tuple[RecordingFinding, ...]:
    """Differences position by position. Arguments are compared by value: another key order is not a difference."""
    wanted = [item for item in recorded if isinstance(item, ToolCallItem)]
    found: list[RecordingFinding] = []
    for index, (call, check, item) in enumerate(zip(reply.tool_calls, checks, wanted, strict=False)):
        if call.name != item.name:
            found.append(RecordingFinding("other_tool", f"{call.name!r} instead of {item.name!r}", index))
        elif call.arguments != item.arguments and (check.value is None or check.value != item.parsed):
            found.append(RecordingFinding("other_arguments", f"{item.name!r} with other arguments", index))
    for item in wanted[len(reply.tool_calls) :]:
        found.append(RecordingFinding("call_absent", f"the recording calls {item.name!r} here"))
    for index, call in list(enumerate(reply.tool_calls))[len(wanted) :]:
        found.append(RecordingFinding("call_unexpected", f"{call.name!r} is not in the recording", index))
    return tuple(found)
