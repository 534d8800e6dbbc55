"""The simulated engine's own process: `python -m replayer.simulated`, settings as JSON on its first line.

It prints `port N` when it answers and ends when its standard input closes, that is with its parent.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from replayer.errors import ReplayerError
from replayer.simulated.serve import serve
from replayer.simulated.spec import SimulatedSpec


def main() -> int:
    try:
        spec = SimulatedSpec.load(sys.stdin.readline())
        threading.Thread(target=_end_with_parent, daemon=True).start()
        asyncio.run(serve(spec, "127.0.0.1", 0, lambda port: print(f"port {port}", flush=True)))
    except ReplayerError as error:
        print(f"error {error}", flush=True)
        return error.exit_code
    return 0


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
