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
from replayer.tui.pages import PAGES
from replayer.tui.text import content

_CSS = """
{name} {{ align: center middle; }}
{name} > .box {{ width: auto; max-width: 90%; max-height: 90%; height: auto; padding: 1 2; border: round $accent; background: $surface; }}
{name} Static {{ width: auto; height: auto; }}
{name} VerticalScroll {{ scrollbar-size-vertical: 1; }}
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


_MARGINS, _BETWEEN = 20, 4
"""Cells beside the text of help, and between its two columns."""

KEYS = (
    (" ".join(str(key) for key, _ in enumerate(PAGES, 1)), ", ".join(PAGES)),
    ("← →", "further lanes; in a turn: the one before, after"),
    ("tab", "lanes and panes: the next one"),
    ("o", "calls and their outputs, folded or in full"),
    ("i", "lanes: all settings, and what the servers say"),
    ("p  f", "lanes: pin the next stream; follow the newest"),
    ("u", "why a figure is unknown (–); the mouse tells it too"),
    ("/", "turns: filter (Esc shows all)"),
    ("n  N", "turns: next fault, fault before"),
    ("f", "turns: follow the newest"),
    ("z", "turns: fold all sessions or none; Enter folds one"),
    ("Enter", "turns: open the turn; lanes: click on its sign"),
    ("c", "turn: the lane's request as a curl command"),
    ("space", "freeze the picture (the run goes on)"),
    ("t", "next theme: dark, light, safe for colour-blind eyes"),
    ("e", "save this screen as SVG"),
    ("r  j", "save the report as HTML, as JSON"),
    ("ctrl+p", "command palette"),
    ("q", "leave; a running run goes on or stops, as you choose"),
)


def help_text(width: int) -> Content:
    """Keys and signs; side by side where the screen is wide enough."""
    keys, signs = _keys(), _signs()
    left = max(line.cell_length for line in keys)
    if left + max(line.cell_length for line in signs) + _MARGINS > width:
        return Content("\n").join([*keys, Content(""), *signs])
    height = max(len(keys), len(signs))
    lines = zip(_filled(keys, height), _filled(signs, height), strict=True)
    return Content("\n").join(a + Content(" " * (left - a.cell_length + _BETWEEN)) + b for a, b in lines)


def _keys() -> list[Content]:
    lines = [content(("keys", "bold $primary"))]
    return lines + [content((f"{key:>9}  ", "bold"), words) for key, words in KEYS]


def _signs() -> list[Content]:
    lines = [content(("signs of a turn", "bold $primary"))]
    lines += [content("  ", (glyph.sign, glyph.style), f"  {glyph.words}") for glyph in glyphs.ALL]
    lines += [Content(""), content(("other signs", "bold $primary"))]
    marks = (
        ("▲", "bold $success", "better than every other lane by more than noise"),
        ("–", "bold", "unknown, never zero; u tells why"),
        ("≠", "bold $warning", "the lanes differ; unlike the recording"),
        ("✔", "$success", "a call is valid; a command ran"),
        ("✘", "$error", "a call is faulty"),
        ("↺", "$foreground-muted", "the recorded result was used"),
    )
    return lines + [content("  ", (sign, style), f"  {words}") for sign, style, words in marks]


def _filled(lines: list[Content], height: int) -> list[Content]:
    return [*lines, *[Content("")] * (height - len(lines))]
