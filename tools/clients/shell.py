"""A shell that keeps its folder, and if wanted its variables, from one call to the next, as many agents' do."""

from __future__ import annotations

from collections.abc import Sequence

from replayer.tools.clients.base import Box, Given
from replayer.tools.sandbox.types import SHELL_STATE, Ran

KEEP_FOLDER = """printf 'cd %q\\n' "$PWD\""""
KEEP_ALL = f"export -p; {KEEP_FOLDER}"
LINES = """[ -f {state} ] && . {state} 2>/dev/null
__keep() {{ {keep}; }}
trap '__code=$?; __keep > {state}; exit $__code' EXIT
eval "$1"
"""


async def run_kept(box: Box, given: Given, seconds: float, keep: str = KEEP_FOLDER) -> Ran:
    script = LINES.format(state=SHELL_STATE, keep=keep)
    command: Sequence[str] = ["/bin/bash", "-c", script, "bash", box.inward(given.text("command"))]
    return await box.sandbox.run(command, timeout=seconds)
