"""Tools, calls and replies as tests of verdicts put them together."""

from __future__ import annotations

import json
from typing import Any

from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.verdict import Verdict
from replayer.traces.schema import ToolSchema
from replayer.wire.types import Reply, Timing, ToolCall
from tests.tools.exchanges import judged

Schema = dict[str, Any]
NOW = Timing(0, 0, 0, 0)


def tool(parameters: Schema, name: str = "t", strict: bool | None = None) -> ToolSchema:
    return ToolSchema(name=name, description="", parameters=parameters, strict=strict)


def reply(*calls: ToolCall, finish_reason: str = "tool_calls", **more: Any) -> Reply:
    return Reply(NOW, tool_calls=calls, finish_reason=finish_reason, done=True, **more)


def call(arguments: str, name: str = "t", index: int = 0) -> ToolCall:
    return ToolCall(index, f"call_{index}", name, arguments)


def of_value(schema: Schema, value: Any, strict: bool | None = None) -> Verdict:
    return judged(reply(call(json.dumps(value))), Validator([tool(schema, strict=strict)]))
