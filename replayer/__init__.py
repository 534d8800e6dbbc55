"""Replay recorded coding-agent sessions against LLM engines."""

import os.path

__version__ = "0.1.0"

_here = os.path.dirname(__file__)  # `pathlib` would be a third of what the receiving process loads
for _name in ("traces", "tools", "tui", "plans"):
    if os.path.isfile(os.path.join(_here, _name)):
        raise ImportError(
            f"replayer/{_name} is a text file, not a link: this checkout lost its symbolic links. "
            "Clone again with `git -c core.symlinks=true clone`, or install the wheel."
        )
