"""The type of a flag that names a port."""

from __future__ import annotations

import argparse


def port(word: str) -> int:
    if not word.isdecimal() or not 0 <= int(word) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{word!r} is not a port: a number from 0 (any free) to 65535")
    return int(word)
