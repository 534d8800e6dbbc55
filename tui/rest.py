"""How the thread that reads a run gives way to the one that answers keys: Python runs one of them at a time."""

from __future__ import annotations

import time

_BETWEEN_S = 0.005
_FOR_A_KEY_S = 0.15


class Rest:
    """Shared by the two threads."""

    def __init__(self) -> None:
        self._key_at = -_FOR_A_KEY_S

    def key_pressed(self) -> None:
        self._key_at = time.monotonic()

    def take(self) -> None:
        """Between two pieces of work: longer while a key is being answered, and never longer than that."""
        time.sleep(max(_BETWEEN_S, self._key_at + _FOR_A_KEY_S - time.monotonic()))
