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
        foreground="#c0caf5",
        background="#16161e",
        surface="#1a1b26",
        panel="#24283b",
        dark=True,
    ),
    Theme(
        name="replayer-light",
        primary="#2e5cb8",
        secondary="#7847bd",
        accent="#00758f",
        success="#3d7a1f",
        warning="#8f5e00",
        error="#b3264a",
        foreground="#1f2335",
        background="#f5f5f7",
        surface="#ffffff",
        panel="#e3e5ee",
        dark=False,
    ),
    Theme(
        name="replayer-safe-colours",
        primary="#56b4e9",
        secondary="#cc79a7",
        accent="#56b4e9",
        success="#0072b2",
        warning="#f0e442",
        error="#e69f00",
        foreground="#e8e8e8",
        background="#101010",
        surface="#181818",
        panel="#2a2a2a",
        dark=True,
    ),
)
"""The last one takes its colours from Okabe and Ito (2008)."""
