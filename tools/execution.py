"""Executes a tool call inside a sandbox and says how it ended, in the words in which its client tells the model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from replayer.tools.clients import client_for
from replayer.tools.clients.base import Box, Given, ToolFailed, speakable
from replayer.tools.outcome import OutcomeKind, ToolOutcome
from replayer.tools.sandbox.types import FileError, FileFault
from replayer.tools.toolsets import Action, ToolKit
from replayer.traces.schema import ToolCallItem
from replayer.wire.types import JsonObject, ToolCall

if TYPE_CHECKING:
    from replayer.tools.sandbox.sandbox import OpenSandbox

__all__ = ["Executor", "ToolOutcome"]

KINDS: dict[FileFault, OutcomeKind] = {"denied": "denied", "timeout": "timeout", "no_space": "limit"}
"""File faults that are more than a tool's own error; all others are `tool_error`."""


class Executor:
    """Runs the calls of one session. `path_map` says where the recording's paths lie in the sandbox."""

    def __init__(self, sandbox: OpenSandbox, kit: ToolKit, path_map: Mapping[str, str] | None = None) -> None:
        self.sandbox = sandbox
        self.kit = kit
        self.client = client_for(kit)
        self.box = Box(sandbox, path_map or {})

    async def execute(self, call: ToolCall | ToolCallItem) -> ToolOutcome:
        """Every way in which a call can end is an outcome; only a lost sandbox is an exception."""
        try:
            arguments = parsed(call)
        except ValueError as error:
            text = self.client.malformed(call.name, str(error))
            return ToolOutcome("tool_error", text, is_error=True, detail={"malformed": True})
        action = self.kit.action(call.name or "", arguments)
        if action is None:
            text = self.client.unknown_tool(call.name)
            return ToolOutcome("tool_error", text, is_error=True, detail={"malformed": True})
        begun = time.monotonic()
        done = await self._perform(action, Given(arguments, action.arguments, call.name or ""))
        output = speakable(self.box.outward(done.output))
        return replace(done, output=output, duration=done.duration or time.monotonic() - begun)

    async def _perform(self, action: Action, given: Given) -> ToolOutcome:
        method = getattr(self.client, action.kind, None)
        if method is None:
            return ToolOutcome(
                "not_executable_here", f"{action.kind} cannot be executed in a sandbox", is_error=True
            )
        try:
            done = await method(self.box, given)
        except ToolFailed as failed:
            detail = {"malformed": True} if failed.malformed else {}
            return ToolOutcome("tool_error", self.client.failed(str(failed)), is_error=True, detail=detail)
        except FileError as error:
            text = self.client.file_error(error, given)
            return ToolOutcome(KINDS.get(error.kind, "tool_error"), text, True, detail={"fault": error.kind})
        return done if isinstance(done, ToolOutcome) else ToolOutcome("ok", done)


def parsed(call: ToolCall | ToolCallItem) -> JsonObject:
    """The arguments as an object. Raises ValueError with the parser's words."""
    if call.freeform:
        return {"input": call.arguments}
    value = orjson.loads(call.arguments or "{}")
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value
