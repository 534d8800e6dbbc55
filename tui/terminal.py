"""Whether the screen can be shown here. Without it a program that draws into a file would wait for keys for ever."""

from __future__ import annotations

import codecs
import os
import sys
from typing import TextIO

_NAMES = ("standard input", "standard output", "standard error")


def why_no_screen() -> str:
    """Empty where the screen can be shown, else what is in its way. It reads keys from standard input and draws on
    standard error."""
    for name, stream in zip(_NAMES, (sys.stdin, sys.stdout, sys.stderr), strict=True):
        if not is_terminal(stream):
            return f"{name} is not a terminal"
    if os.environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return "the terminal is dumb (TERM)"
    if codecs.lookup(sys.stderr.encoding).name != "utf-8":
        return f"the terminal's encoding is {sys.stderr.encoding}, not UTF-8"
    return ""


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the start is None."""
    return stream is not None and stream.isatty()
