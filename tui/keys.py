"""The line of keys at the bottom: one widget, since Textual's footer is one per key and costs most of a page."""

from __future__ import annotations

from textual.binding import Binding
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

_KEY = "$footer-key-foreground bold"
_WORDS = "$footer-description-foreground"
_ALWAYS = 2
"""Keys at the end that are shown however narrow it is: help and quit. Help names those that are left out."""


_FROZEN = Content.assemble((" ‖ frozen ", "$warning bold reverse"), " ")
"""Stands first while the picture is; space follows the run again."""


class Keys(Widget):
    """The keys that work now; a click presses one. The palette's stands at the right where there is room (help
    names it)."""

    DEFAULT_CSS = """
    Keys { dock: bottom; height: 1; background: $panel; pointer: pointer; }
    """

    shown: reactive[tuple[tuple[str, str, str], ...]] = reactive(())
    """Key, how it is written, what it does."""

    def on_mount(self) -> None:
        self.auto_links = False  # keys have their own colour, and no line under each
        self.screen.bindings_updated_signal.subscribe(self, self._update)
        self._update(self.screen)

    def _update(self, screen: Screen[object]) -> None:
        if screen.is_active:
            active = [(one.binding, one.enabled) for one in screen.active_bindings.values()]
            by_action = {binding.action: binding for binding, enabled in active if binding.show and enabled}
            self.shown = tuple(self._words(binding) for binding in by_action.values())

    def _words(self, binding: Binding) -> tuple[str, str, str]:
        return binding.key, self.app.get_key_display(binding), binding.description

    def render(self) -> Content:
        width = self.size.width
        frozen = [_FROZEN] if self.app.has_class("frozen") else []
        parts = [*frozen, *(_key(*one) for one in self.shown)]
        while len(parts) > _ALWAYS + len(frozen) and sum(part.cell_length for part in parts) > width + 1:
            del parts[-_ALWAYS - 1]
        line = Content.assemble(*parts)
        palette = Content.assemble(("▏", "$foreground-muted"), self._palette()[1:])
        room = width - line.cell_length - palette.cell_length
        return line + " " * room + palette if room > 0 else line

    def _palette(self) -> Content:
        key = self.app.COMMAND_PALETTE_BINDING
        return _key(key, self.app.get_key_display(Binding(key, "command_palette")), "palette")


def _key(key: str, display: str, words: str) -> Content:
    press = Style.from_meta({"@click": f"app.simulate_key({key!r})"})
    return Content.assemble((f" {display} ", _KEY), (f"{words} ", _WORDS)).stylize(press)
