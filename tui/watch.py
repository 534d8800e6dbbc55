"""Opens the screen on run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replayer.tui.app import ReplayerApp
from replayer.tui.source import RunSource, merged


def watch(folders: Sequence[Path]) -> str:
    """Show runs until the user leaves; "stop" when the user wants the run ended, else "leave"."""
    sources = [RunSource(folder) for folder in folders]
    app = ReplayerApp(lambda: merged([source.poll() for source in sources]), list(folders))
    return app.run() or "leave"
