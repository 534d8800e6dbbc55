"""Text for people: foreign text made safe to show, and the nearest right word for error sentences."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Set

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def safe(text: str) -> str:
    """`text` without C0 and C1 controls (newline and tab stay), bidirectional controls and lone surrogates."""
    return _UNSAFE.sub("\ufffd", text)


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """`; did you mean X?`, or the list of what is known."""
    names = sorted(known) if isinstance(known, Set) else list(known)
    near = similar(word, names, cutoff)
    return f"; did you mean {near!r}?" if near else f"; known are {', '.join(names) or 'none'}"


def similar(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word most like `word`, at least `cutoff` of 1 alike; None where none is."""
    from difflib import get_close_matches  # late: it costs the start of every command 3 ms

    return next(iter(get_close_matches(word, sorted(known), n=1, cutoff=cutoff)), None)


def show_progress(label: str, done: int, total: int | None) -> None:
    """One line on stderr: redrawn on a terminal, printed at the end only elsewhere."""
    finished = total is not None and done >= total
    if not (sys.stderr.isatty() or finished):
        return
    share = f"{min(done / total, 1):4.0%} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"
    end = "\n" if finished else ""
    print(
        f"\rfetching {label}: {share}" if sys.stderr.isatty() else f"fetched {label}: {share}",
        end=end,
        file=sys.stderr,
        flush=True,
    )
