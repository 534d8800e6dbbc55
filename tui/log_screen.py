"""replayer's own warnings, and the last lines of each engine's log where it is known."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from replayer.tui.keys import Keys
from replayer.tui.pages import Page
from replayer.tui.source import Frame
from replayer.tui.text import Span, content

_TAIL_BYTES = 24_000
_LINES = 60
_LINE_CHARS = 2_000
_QUIET = "$foreground-muted"


class LogScreen(Page):
    """Read only; the folders' logs are read again with every frame. Stays at the end while it is there."""

    DEFAULT_CSS = """
    LogScreen > VerticalScroll { padding: 0 1; scrollbar-size-vertical: 1; }
    LogScreen > VerticalScroll > Static { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._told = ""
        self._lines = Static(markup=False)
        self._area = VerticalScroll(self._lines, can_focus=True)

    def compose(self) -> ComposeResult:
        yield self._area
        yield Keys()

    def show(self, frame: Frame) -> bool:
        said = content(*_warnings(frame), *self._logs())
        if said.plain != self._told:
            self._told = said.plain
            self._update(said)
        return True

    def _update(self, said: Content) -> None:
        at_end = self._area.scroll_offset.y >= self._area.max_scroll_y
        self._lines.update(said)
        if at_end:
            self._area.scroll_end(animate=False)

    def _logs(self) -> list[Span | str]:
        spans: list[Span | str] = []
        for folder in self.folders:
            for log in sorted((folder / "engines").glob("*.log")):
                title = f"\n{log.stem}: the engine's own log, its last {_LINES} lines\n"
                spans += [(title, "bold $primary"), tail_of(log)]
        if not spans:
            spans.append(("\nengines' own logs\n", "bold $primary"))
            spans.append(("none is known: replayer has those of engines that it launched\n", _QUIET))
        return spans


def _warnings(frame: Frame) -> list[Span | str]:
    spans: list[Span | str] = [("warnings\n", "bold $primary")]
    for view in frame.views:
        for warning in view.warnings:
            spans += [(f"{warning.at / 1e9:8.1f} s  ", _QUIET), ("△ ", "$warning")]
            spans.append(f"{warning.lane + ': ' if warning.lane else ''}{warning.message[:_LINE_CHARS]}\n")
        spans += [(f"✗ {reason[:_LINE_CHARS]}\n", "$error") for reason in view.reasons]
    return spans if len(spans) > 1 else [*spans, ("none\n", _QUIET)]


def tail_of(log: Path) -> str:
    """The last lines of a log; it is model and server output, so the widget gets it as plain text."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = stream.read().decode(errors="replace")
    except OSError as error:
        return f"{error.strerror}\n"
    lines = [line[:_LINE_CHARS] for line in text.splitlines()[-_LINES:]]
    return "\n".join(lines) + "\n" if lines else "nothing in it so far\n"
