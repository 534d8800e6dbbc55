"""Opens the screen on run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replayer.tui.app import ReplayerApp
from replayer.tui.source import Sources


def watch(folders: Sequence[Path]) -> str:
    """Show runs until the user leaves; "stop" when the user wants the run ended, else "leave"."""
    pins: dict[str, str] = {}
    app = ReplayerApp(Sources(folders, pins).poll, list(folders), pins)
    return app.run() or "leave"
