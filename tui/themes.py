"""Dark, light, and one whose signs stay apart for colour-blind eyes (blue and orange for good and bad)."""

from __future__ import annotations

from textual.theme import Theme

THEMES = (
    Theme(
        name="replayer-dark",
        primary="#7aa2f7",
        secondary="#bb9af7",
        accent="#2ac3de",
        success="#9ece6a",
        warning="#e0af68",
        error="#f7768e",
        foreground="#c8d1f5",
        background="#16161e",
        surface="#1a1b26",
        panel="#24283b",
        dark=True,
        variables={
            "foreground-muted": "#9099c0",
            "text-muted": "#9099c0",
            "panel-lighten-1": "#2b3049",
            "panel-lighten-2": "#4a5071",
            "scrollbar": "#4a5071",
            "scrollbar-background": "#1a1b26",
        },
    ),
    Theme(
        name="replayer-light",
        primary="#2e5cb8",
        secondary="#7847bd",
        accent="#006a82",
        success="#2f6b14",
        warning="#7d5200",
        error="#b3264a",
        foreground="#1f2335",
        background="#f7f7fa",
        surface="#ffffff",
        panel="#e8eaf2",
        dark=False,
        variables={
            "foreground-muted": "#565c77",
            "text-muted": "#565c77",
            "panel-lighten-1": "#dde1ee",
            "panel-lighten-2": "#b4bad0",
            "scrollbar": "#b4bad0",
            "scrollbar-background": "#eef0f6",
        },
    ),
    Theme(
        name="replayer-safe-colours",
        primary="#b8c4d6",
        secondary="#d98fb8",
        accent="#d98fb8",
        success="#56b4e9",
        warning="#f0e442",
        error="#f07a30",
        foreground="#e8e8e8",
        background="#101010",
        surface="#181818",
        panel="#262626",
        dark=True,
        variables={
            "foreground-muted": "#a6a6a6",
            "text-muted": "#a6a6a6",
            "panel-lighten-1": "#303030",
            "panel-lighten-2": "#555555",
            "scrollbar": "#555555",
            "scrollbar-background": "#181818",
        },
    ),
)
"""Good, doubtful and bad of the last one are sky blue, yellow and a lighter vermilion of Okabe and Ito (2008). Every
text reaches a contrast of 4.5 to 1 (WCAG 2.2, 1.4.3) against what it stands on."""
