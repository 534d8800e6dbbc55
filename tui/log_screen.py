"""replayer's own warnings, and the last lines of each engine's log where it is known."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from replayer.tui.keys import Keys
from replayer.tui.source import Frame
from replayer.tui.text import Span, content

_TAIL_BYTES = 24_000
_LINES = 60


class LogScreen(Screen[None]):
    """Read only; the folders' logs are read again with every frame."""

    DEFAULT_CSS = """
    LogScreen > VerticalScroll { padding: 0 1; }
    LogScreen Static { height: auto; }
    """

    def __init__(self, folders: list[Path]) -> None:
        super().__init__()
        self._folders = folders

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="lines", markup=False)
        yield Keys()

    def show(self, frame: Frame) -> bool:
        spans: list[Span | str] = [("warnings\n", "bold $primary")]
        warnings = [warning for view in frame.views for warning in view.warnings]
        spans += [f"{warning.at / 1e9:8.1f} s  {warning.message}\n" for warning in warnings] or ["none\n"]
        for view in frame.views:
            spans += [(f"✗ {reason}\n", "$error") for reason in view.reasons]
        for folder in self._folders:
            for log in sorted((folder / "engines").glob("*.log")):
                spans += [(f"\n{log.stem}: engine log\n", "bold $primary"), tail_of(log)]
        self.query_one("#lines", Static).update(content(*spans))
        return True


def tail_of(log: Path) -> str:
    """The last lines of a log; it is model and server output, so the widget gets it as plain text."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = stream.read().decode(errors="replace")
    except OSError as error:
        return f"{error.strerror}\n"
    return "\n".join(text.splitlines()[-_LINES:]) + "\n"
