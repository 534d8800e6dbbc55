"""Flags as the help shows them, and the type of one that names a port."""

from __future__ import annotations

import argparse


def flag(parser: argparse._ActionsContainer, shown: str, words: str, **more: object) -> None:
    """`shown` as in the help: `-o, --out DIR` takes a value, `--json` alone is a switch. `more` is argparse's own."""
    names = [word.removesuffix(",") for word in shown.split() if word.startswith("-")]
    values = [word for word in shown.split() if not word.startswith("-")]
    kind = {"metavar": values[0]} if values else {} if more else {"action": "store_true"}
    parser.add_argument(*names, help=words, **kind, **more)  # type: ignore[arg-type]


def port(word: str) -> int:
    if not word.isdecimal() or not 0 <= int(word) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{word!r} is not a port: a number from 0 (any free) to 65535")
    return int(word)
