"""The screen's application: samples a source four times a second and paints what it got."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.app import App
from textual.binding import Binding
from textual.message import Message

from replayer.tui.main_screen import MainScreen
from replayer.tui.source import Frame

INTERVAL = 0.25
"""Seconds between frames: painting costs tens of milliseconds, so more often buys nothing."""


class FrameReady(Message):
    """A new frame was read, in the reader's thread."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FrameReady)


class ReplayerApp(App[str]):
    """Shows what `poll` reads. Returns "stop" when the user wants the run ended, else "leave"."""

    TITLE = "replayer"
    BINDINGS: ClassVar = [
        Binding("q", "leave", "Quit"),
        Binding("space", "freeze", "Freeze"),
    ]

    def __init__(self, poll: Callable[[], Frame]) -> None:
        super().__init__()
        self._poll = poll
        self._main = MainScreen()
        self._frozen = False
        self._reading = False

    def on_mount(self) -> None:
        self.push_screen(self._main)
        self.set_interval(INTERVAL, self._ask)
        self._ask()

    def _ask(self) -> None:
        if not self._reading and not self._frozen:
            self._reading = True
            self._read()

    @work(thread=True, exclusive=True, group="reader")
    def _read(self) -> None:
        frame = self._poll()
        self.post_message(FrameReady(frame))

    def on_frame_ready(self, message: FrameReady) -> None:
        self._reading = False
        with self.batch_update():
            self._main.show(message.frame)

    def action_freeze(self) -> None:
        self._frozen = not self._frozen

    def action_leave(self) -> None:
        self.exit("leave")
