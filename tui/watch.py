"""Opens the screen on run folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replayer.tui.app import ReplayerApp
from replayer.tui.source import RunSource, merged


def watch_live(folder: Path) -> str:
    """Show one run until the user leaves; "stop" when the user wants the run ended, else "leave"."""
    return watch([folder])


def watch(folders: Sequence[Path]) -> str:
    sources = [RunSource(folder) for folder in folders]
    return ReplayerApp(lambda: merged([source.poll() for source in sources])).run() or "leave"
