"""macOS: not executable yet. Kept as a name so that the refusal says so, and what to use instead."""

from __future__ import annotations

from replayer.errors import MissingPartError
from replayer.tools.sandbox.isolation import Room, Started
from replayer.tools.sandbox.types import Grade


class Seatbelt:
    """Experimental and closed: the worker needs Linux (memory files, process descriptors)."""

    name = "seatbelt"
    grade: Grade = "none"

    def missing(self) -> str | None:
        return "sandboxed tools are not available on macOS yet; run replayer in a Linux VM or use --tools recorded"

    def start(self, room: Room) -> Started:
        raise MissingPartError(str(self.missing()))
