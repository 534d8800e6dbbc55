"""Replay recorded coding-agent sessions against LLM engines."""

from pathlib import Path

__version__ = "0.1.0"

_here = Path(__file__).parent
for _name in ("traces", "tools", "tui", "plans"):
    if (_here / _name).is_file():
        raise ImportError(
            f"replayer/{_name} is a text file, not a link: this checkout lost its symbolic links. "
            "Clone again with `git -c core.symlinks=true clone`, or install the wheel."
        )
