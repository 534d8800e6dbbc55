"""Small windows over a screen: help, quit, and why a figure is unknown."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from replayer.tui import glyphs
from replayer.tui.text import Span, content

_CSS = """
{name} {{ align: center middle; }}
{name} > .box {{ width: auto; max-width: 90%; max-height: 90%; height: auto; padding: 1 2; border: round $accent; background: $surface; }}
{name} Static {{ width: auto; height: auto; }}
"""


class TextDialog(ModalScreen[None]):
    """Some text; any of Escape, Enter, q or ? closes it."""

    BINDINGS: ClassVar = [Binding("escape,enter,q,question_mark,u,i,ctrl+c", "dismiss", "Close")]
    DEFAULT_CSS = _CSS.format(name="TextDialog")

    def __init__(self, text: Content) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box"):
            yield Static(self._text)


class QuitDialog(ModalScreen[str | None]):
    """Leaving the screen of a running run: leave it running, stop it, or stay."""

    BINDINGS: ClassVar = [
        Binding("l,ctrl+c", "dismiss('leave')", "Leave it running"),
        Binding("s", "dismiss('stop')", "Stop it"),
        Binding("escape,q", "dismiss(None)", "Stay"),
    ]
    DEFAULT_CSS = _CSS.format(name="QuitDialog")

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(
                content(
                    ("The run is still going on.\n\n", "bold"),
                    ("l", "bold $accent"),
                    "  leave it running in the background\n",
                    ("s", "bold $accent"),
                    "  stop it; `replayer resume` goes on later\n",
                    ("Esc", "bold $accent"),
                    "  stay here",
                )
            )

    def action_dismiss(self, result: str | None = None) -> None:  # type: ignore[override]
        self.dismiss(result)


KEYS = (
    ("1 2 3 4", "lanes, turns, telemetry, log"),
    ("← →", "lanes: the ones that do not fit; a step: the turn before or after"),
    ("tab", "lanes and panes: the next one"),
    ("o", "tool output, folded or not"),
    ("p  f", "lanes: pin the next of several streams; follow the newest"),
    ("u", "why a figure is unknown (–); the mouse tells it too"),
    ("/", "turns: filter (Esc shows all)"),
    ("n  N", "turns and steps: next fault, fault before"),
    ("f", "turns: follow the newest"),
    ("Enter", "turns: open the step"),
    ("c", "step: the lane's request as a curl command"),
    ("space", "freeze the picture (the run goes on)"),
    ("t", "next theme: dark, light, safe for colour-blind eyes"),
    ("e", "save this screen as SVG"),
    ("r  j", "save the report as HTML, as JSON"),
    ("ctrl+p", "command palette"),
    ("q", "leave; a running run is left running or stopped, as you choose"),
)


def help_text() -> Content:
    spans: list[Span | str] = [("keys\n", "bold $primary")]
    for key, words in KEYS:
        spans += [(f"{key:>9}  ", "bold"), f"{words}\n"]
    spans.append(("\nsigns of a turn\n", "bold $primary"))
    for glyph in glyphs.ALL:
        spans += [(f"{glyph.sign:>9}  ", glyph.style), f"{glyph.words}\n"]
    spans += [
        ("\n        ▲", "bold $success"),
        "  better than every other lane by more than noise\n",
        ("        △", "bold $success"),
        "  the same, of the sessions of this run only\n",
        ("        –", "bold"),
        "  unknown, never zero; u tells why",
    ]
    return content(*spans)
