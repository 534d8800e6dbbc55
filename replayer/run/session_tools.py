"""What executes the calls of a run's sessions: workspaces, environments and sandboxes, prepared once per trace."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from replayer.errors import MissingPartError, PlanError
from replayer.plan.model import Plan
from replayer.run.recorded_tools import RecordedTools, Snapshots
from replayer.run.tool_runs import called
from replayer.tools.environment import Environment, Wanted, prepare
from replayer.tools.execution import Executor
from replayer.tools.sandbox.probe import SandboxGrade, probe
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import ROOT, Workspace
from replayer.tools.toolsets import ToolKit, identify

if TYPE_CHECKING:
    from replayer.requests.history import RecordedHistory


@dataclasses.dataclass(slots=True)
class _Prepared:
    workspace: Workspace
    environment: Environment | None
    states: Snapshots = dataclasses.field(default_factory=dict)


class Tools:
    """The sandboxes of one run. Without isolation, `sandbox` mode is refused and `matched` goes on recorded."""

    def __init__(self, plan: Plan, histories: dict[str, RecordedHistory]) -> None:
        self._plan = plan
        self._histories = histories
        self._prepared: dict[str, _Prepared] = {}
        self.grade: SandboxGrade | None = None

    @property
    def enabled(self) -> bool:
        return self.grade is not None and self.grade.grade != "none"

    def check(self, warn: Callable[[str], None]) -> None:
        """Test the isolation before the first request. Raises MissingPartError where it must be there and is not."""
        self.grade = probe(self._plan.sandbox)
        if self.enabled:
            if self.grade.grade != "full":
                warn(f"calls are executed with weaker isolation than usual: grade {self.grade.grade}")
            return
        reason = self.grade.reason or "its self-test failed"
        if self._plan.tools == "sandbox":
            raise MissingPartError(
                f"--tools sandbox needs isolation and there is none here: {reason}; "
                "--tools matched falls back to recorded results"
            )
        warn(f"sandbox grade none ({reason}): tool results come from the recording")

    async def open(self, trace: str) -> Executor | None:
        """A sandbox of its own for one session, or None where calls are not executed."""
        if not self.enabled:
            return None
        history = self._histories[trace]
        kit = _kit(self._plan, history)
        if kit is None:
            return None
        found = await asyncio.to_thread(self._prepare, trace)
        sandbox = await Sandbox.start(
            found.workspace, environment=found.environment, backend=self._plan.sandbox
        )
        return Executor(sandbox, kit, _path_map(self._plan, history))

    def recorded(self, trace: str, executor: Executor) -> RecordedTools:
        """Execution in recorded mode; all sessions of a trace share what the workspace was before each turn."""
        return RecordedTools(self._histories[trace], executor, self._prepared[trace].states)

    def _prepare(self, trace: str) -> _Prepared:
        if trace not in self._prepared:
            self._prepared[trace] = _prepare(self._plan, self._histories[trace])
        return self._prepared[trace]


def _prepare(plan: Plan, history: RecordedHistory) -> _Prepared:
    path = Path(history.trace.path)
    given = history.trace.header.workspace
    workspace = (
        Workspace.from_directory(plan.workspace) if plan.workspace else Workspace.from_trace(given, path)
    )
    wanted = Wanted.from_trace((given or {}).get("environment"), path)
    return _Prepared(workspace, prepare(wanted) if wanted else None)


def _kit(plan: Plan, history: RecordedHistory) -> ToolKit | None:
    """The tools that the trace offered; where it does not say, those that it called."""
    offered = {schema.name: schema for tool_set in history.tool_sets() for schema in tool_set.tools}
    kit = identify(offered.values() or sorted(called(history)))
    if kit is None and plan.tools == "sandbox":
        raise PlanError(
            f"{history.trace.path}: its tools belong to no agent that replayer knows, so none of its calls can be "
            "executed; use --tools recorded"
        )
    return kit


def _path_map(plan: Plan, history: RecordedHistory) -> dict[str, str]:
    """As given; else the recorded project's root is the workspace of one's own."""
    roots = (history.trace.header.workspace or {}).get("roots")
    if plan.map or not plan.workspace or not roots or not isinstance(roots[0], dict):
        return plan.map
    path = roots[0].get("path")
    return {path.rstrip("/"): ROOT} if isinstance(path, str) and path.startswith("/") else {}
