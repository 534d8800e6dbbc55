"""What the search for call markup finds."""

from __future__ import annotations

from replayer.lazy import dataclass
from replayer.tools.verdicts.call_text import TextCall


@dataclass(frozen=True, slots=True)
class Leak:
    """Call markup at `start` of a text, up to `end`. `hard`: a call, or a piece of one, not just a mention."""

    family: str
    start: int
    end: int
    text: str
    """Its first characters."""
    hard: bool
    complete: bool = True
    """False where the call breaks off with the text."""
    calls: tuple[TextCall, ...] = ()

    @property
    def excerpt(self) -> str:
        """As messages show it."""
        return repr(self.text)


def leak_at(
    family: str,
    text: str,
    start: int,
    *,
    hard: bool,
    end: int | None = None,
    calls: tuple[TextCall, ...] = (),
    complete: bool = True,
) -> Leak:
    """A leak with the excerpt that messages show; without `end` it goes on to the end of the text."""
    return Leak(
        family, start, len(text) if end is None else end, excerpt_at(text, start), hard, complete, calls
    )


def excerpt_at(text: str, start: int) -> str:
    """The beginning of what stands at `start`."""
    return text[start : start + 60] + ("…" if len(text) > start + 60 else "")
