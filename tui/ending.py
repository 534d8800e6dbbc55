"""Ends the screen when its terminal goes away or a signal asks for it, also where its own threads hang.

Textual's output thread dies with a failing terminal and blocks with one that takes nothing; then its event loop waits for
room in the output queue and hears no signal. Its input thread spins at the end of input. So a thread of its own waits
here, and ends the process where the application cannot end itself.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

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
