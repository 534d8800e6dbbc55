"""Opens the screen on run folders."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from replayer.tui.app import ReplayerApp
from replayer.tui.ending import ended_with_terminal
from replayer.tui.rest import Rest
from replayer.tui.source import Frame, Sources

_NICENESS = 5
"""The screen gives way to the run that it shows: its runner, its engine, its sandbox."""
_SHARE = 0.35
"""Of a core, for all that the screen does; a flood of events makes frames rarer instead."""
_SWITCH_S = 0.001
"""How long a key may wait for the thread that reads; Python's own is 5 ms, and an answer takes many turns."""
COLLECT = 50_000, 5, 400
"""New objects between two collections, and how often the next older ones are gone over too. A journal's facts stay, and
going over them again and again costs most; the lines of a picture refer to themselves, 50 KB of them a second."""


def watch(folders: Sequence[Path]) -> str:
    """Show runs until the user leaves; "stop" when the user wants the run ended, else "leave".

    Raises RunFolderError when a journal is damaged or gone, PlanError when the runs' modes differ.
    """
    os.nice(_NICENESS)
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()
    gc.set_threshold(*COLLECT)
    pins: dict[str, str] = {}
    rest = Rest()
    poll = settled_memory(Sources(folders, pins, rest).poll)
    app = ReplayerApp(poll, list(folders), pins, rest, share=_SHARE)
    with ended_with_terminal(lambda: app.exit("leave")):
        choice = app.run()
    if app.failed is not None:
        raise app.failed
    return choice or "leave"


def settled_memory(poll: Callable[[], Frame]) -> Callable[[], Frame]:
    """What a run held when it was opened is never collected: going over a large one costs half a second, and a key waits."""
    settled = False

    def polled() -> Frame:
        nonlocal settled
        frame = poll()
        if not settled and not frame.behind:
            gc.freeze()
            settled = True
        return frame

    return polled
