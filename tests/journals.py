"""Journals that tests rewrite: sealed anew, so that only what was changed is changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from replayer.journal.lines import seal

Line = dict[str, Any]


def lines_of(journal: Path) -> list[Line]:
    return [json.loads(line) for line in journal.read_bytes().splitlines()]


def write_lines(journal: Path, lines: Iterable[Line]) -> None:
    bare = ({key: value for key, value in line.items() if key not in ("seq", "crc")} for line in lines)
    journal.write_bytes(b"".join(seal(n, json.dumps(line).encode()) for n, line in enumerate(bare, 1)))


def rewrite(journal: Path, change: Callable[[Line], Line]) -> None:
    write_lines(journal, [change(line) for line in lines_of(journal)])
