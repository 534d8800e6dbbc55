"""Opens the screen on run folders, and ends it when its terminal goes away or a signal asks for it.

Textual's output thread dies with a failing terminal and blocks with one that takes nothing; then its event loop waits for
room in the output queue and hears no signal. Its input thread spins at the end of input. So a thread of its own waits
here, and ends the process where the application cannot end itself.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from rich.cells import cached_cell_len

from replayer.tui.app import ReplayerApp
from replayer.tui.rest import Rest
from replayer.tui.source import Frame, Sources

_NICENESS = 5
"""The screen gives way to the run that it shows: its runner, its engine, its sandbox."""
_SHARE = 0.35
"""Of a core, for all that the screen does; a flood of events makes frames rarer instead."""
_SWITCH_S = 0.001
"""How long a key may wait for the thread that reads; Python's own is 5 ms, and an answer takes many turns."""
_FRAMES_KNOWN = 250
COLLECT = 50_000, 5, 10
"""New objects between two collections, and how often the next older ones are gone over too. What a run held when it
was opened is never gone over; the lines of a picture refer to themselves, 50 KB of them a second, and some grow old first."""


def watch(folders: Sequence[Path]) -> str:
    """Show runs until the user leaves; "stop" when the user wants the run ended, else "leave".

    Raises RunFolderError when a journal is damaged or gone, PlanError when the runs' modes differ.
    """
    os.nice(_NICENESS)
    sys.setswitchinterval(_SWITCH_S)
    _keep_one_heap()
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


_ARENA_MAX, _MMAP_THRESHOLD, _APART = -8, -3, 128 << 10
"""Of glibc's `mallopt`: heaps at most, and the size from which on a block goes back to the system when it is freed. glibc raises
that size with every large block that is freed."""


def _keep_one_heap() -> None:
    """A heap for each thread that draws or reads keeps for good what a moment needed: 10 MB of 97 in a soak."""
    with suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_ARENA_MAX, 1)
        libc.mallopt(_MMAP_THRESHOLD, _APART)


def settled_memory(poll: Callable[[], Frame]) -> Callable[[], Frame]:
    """What a run held when it was opened is never collected: going over a large one costs half a second, and a key waits.
    Widths of texts are forgotten now and then: Rich keeps 4,096 of them, strewn among what is soon freed again."""
    settled = False
    frames = count(1)

    def polled() -> Frame:
        nonlocal settled
        frame = poll()
        if not settled and not frame.behind:
            gc.freeze()
            settled = True
        if next(frames) % _FRAMES_KNOWN == 0:
            cached_cell_len.cache_clear()
        return frame

    return polled


_GRACE = 1.2
"""Seconds for the application to end itself and to put the terminal right."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_GONE = select.POLLHUP | select.POLLERR
_PLAIN = b"\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?2004l\x1b[?7h\x1b[?1049l\x1b[?25h"
"""No keyboard protocol, no mouse, no marked pastes; lines wrap, the first screen is back and so is the cursor."""


@contextmanager
def ended_with_terminal(end: Callable[[], object]) -> Iterator[None]:
    """Within it, `end` is called in another thread when the terminal is gone or a signal came; `_GRACE` later the process
    ends, unless the block was left."""
    keys, picture = _number(sys.__stdin__, 0), _number(sys.__stderr__, 2)
    before = termios.tcgetattr(keys)
    heard, hear = os.pipe()
    left = threading.Event()

    def wait() -> None:
        if _lost((keys, picture), heard) and not left.is_set():
            end()
            if not left.wait(_GRACE):
                _abandon(keys, picture, before)

    handlers = {number: signal.signal(number, lambda *_: _wake(hear)) for number in _SIGNALS}
    thread = threading.Thread(target=wait, name="screen-ending", daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        _wake(hear)
        thread.join()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(heard)
        os.close(hear)


def _number(stream: TextIO | None, otherwise: int) -> int:
    return stream.fileno() if stream is not None else otherwise


def _wake(pipe: int) -> None:
    with suppress(OSError):
        os.write(pipe, b"x")


def _lost(terminals: tuple[int, int], heard: int) -> bool:
    """Waits until a terminal is gone or something is heard; costs nothing meanwhile."""
    poll = select.poll()
    for terminal in terminals:
        poll.register(terminal, 0)
    poll.register(heard, select.POLLIN)
    while True:
        for number, event in poll.poll():
            if number == heard or event & _GONE:
                return True
            poll.unregister(number)  # this system does not poll terminals; signals are heard all the same


def _abandon(keys: int, picture: int, before: list[Any]) -> None:
    """The application hangs: what can be put right without waiting is, and the process ends."""
    with suppress(OSError, termios.error, ValueError):
        termios.tcsetattr(keys, termios.TCSANOW, before)
        if select.select([], [picture], [], 0)[1]:
            os.write(picture, _PLAIN)
    os._exit(0)
