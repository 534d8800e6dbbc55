"""A sandbox whose isolation has passed its self-test on this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from replayer.errors import MissingPartError
from replayer.tools.sandbox.probe import isolation_for, probe
from replayer.tools.sandbox.sandbox import OpenSandbox
from replayer.tools.sandbox.types import Limits
from replayer.tools.sandbox.workspace import Workspace

if TYPE_CHECKING:
    from replayer.tools.environment import Environment


class Sandbox(OpenSandbox):
    """Made by `start`; `open` leaves the self-test out."""

    @classmethod
    async def start(
        cls,
        workspace: Workspace,
        *,
        environment: Environment | None = None,
        limits: Limits | None = None,
        backend: str = "auto",
    ) -> Self:
        """Raises MissingPartError when the isolation cannot be had or its self-test fails."""
        graded = await asyncio.to_thread(probe, backend)
        if graded.grade == "none":
            raise MissingPartError(graded.reason)
        packages = environment.path if environment else None
        return await cls.open(workspace, isolation_for(backend), limits=limits, packages=packages)
