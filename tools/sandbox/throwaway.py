"""No isolation of our own: for a machine of which the user says that it is itself a throw-away container."""

from __future__ import annotations

import platform
from pathlib import Path

from replayer.tools.sandbox.isolation import PrivateFolder, Room, Started, interpreter
from replayer.tools.sandbox.types import Grade


class ThrowAway:
    """Limits and clean-up only. Never chosen by itself."""

    name = "container"
    grade: Grade = "container"

    def missing(self) -> str | None:
        return None if platform.system() == "Linux" else "the container mode needs Linux"

    def start(self, room: Room) -> Started:
        home = PrivateFolder()
        python = interpreter()
        prefix = str(python.prefix / "bin" / Path(python.path).name) if python.prefix else python.path
        return room.spawn_at(home, room.worker(prefix, str(home.root), ()))
