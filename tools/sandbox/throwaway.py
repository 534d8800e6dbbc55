"""What is no isolation of ours: a machine that is itself a throw-away container, and macOS, where nothing runs yet."""

from __future__ import annotations

import platform

from replayer.errors import MissingPartError
from replayer.tools.sandbox.isolation import PrivateFolder, Room, Started, interpreter
from replayer.tools.sandbox.types import Grade


class ThrowAway:
    """Limits and clean-up only, on the user's word that the machine is thrown away. Never chosen by itself."""

    name = "container"
    grade: Grade = "container"

    def missing(self) -> str | None:
        return None if platform.system() == "Linux" else "the container mode needs Linux"

    def start(self, room: Room) -> Started:
        home = PrivateFolder()
        return room.spawn_at(home, room.worker(interpreter().here, str(home.root), ()))


class Seatbelt:
    """A name only, so that the refusal says what to use instead: the worker needs Linux (memory files, process
    descriptors)."""

    name = "seatbelt"
    grade: Grade = "none"

    def missing(self) -> str | None:
        return "sandboxed tools are not available on macOS yet; run replayer in a Linux VM or use --tools recorded"

    def start(self, room: Room) -> Started:
        raise MissingPartError(str(self.missing()))
