"""Dark, light, and one whose signs stay apart for colour-blind eyes (blue and orange for good and bad)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.theme import Theme

_NAMES = ("replayer-dark", "replayer-light", "replayer-safe-colours")
_COLOURS = {
    "primary": ("#7aa2f7", "#2e5cb8", "#b8c4d6"),
    "secondary": ("#bb9af7", "#7847bd", "#d98fb8"),
    "accent": ("#2ac3de", "#006a82", "#d98fb8"),
    "success": ("#9ece6a", "#2f6b14", "#56b4e9"),
    "warning": ("#e0af68", "#7d5200", "#f0e442"),
    "error": ("#f7768e", "#b3264a", "#f07a30"),
    "foreground": ("#c8d1f5", "#1f2335", "#e8e8e8"),
    "background": ("#16161e", "#f7f7fa", "#101010"),
    "surface": ("#1a1b26", "#ffffff", "#181818"),
    "panel": ("#24283b", "#e8eaf2", "#262626"),
}
"""By theme. Good, doubtful and bad of the last one are sky blue, yellow and a lighter vermilion of Okabe and Ito (2008).
Every text reaches a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3) against what it stands on."""
_VARIABLES = {
    "foreground-muted": ("#9099c0", "#565c77", "#a6a6a6"),
    "text-muted": ("#9099c0", "#565c77", "#a6a6a6"),
    "panel-lighten-1": ("#2b3049", "#dde1ee", "#303030"),
    "panel-lighten-2": ("#4a5071", "#b4bad0", "#555555"),
    "scrollbar": ("#4a5071", "#b4bad0", "#555555"),
    "scrollbar-background": ("#1a1b26", "#eef0f6", "#181818"),
}


def _of(place: int, colours: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: of_themes[place] for name, of_themes in colours.items()}


THEMES = tuple(
    Theme(name, dark="light" not in name, variables=_of(place, _VARIABLES), **_of(place, _COLOURS))  # type: ignore[arg-type]
    for place, name in enumerate(_NAMES)
)
