"""The screen's application: samples a source four times a second and paints what it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

import orjson
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen

from replayer.curl import curl
from replayer.errors import ReplayerError
from replayer.figures import run_figures
from replayer.step_detail import StepDetail, open_history, step_detail
from replayer.tui.dialogs import QuitDialog, TextDialog, help_text
from replayer.tui.log_screen import LogScreen
from replayer.tui.main_screen import MainScreen, PinStream
from replayer.tui.source import Frame
from replayer.tui.step_screen import StepScreen
from replayer.tui.telemetry_screen import TelemetryScreen
from replayer.tui.themes import THEMES
from replayer.tui.turns_screen import Key, OpenStep, TurnsScreen
from replayer.view import RunView

INTERVAL = 0.25
"""Seconds between frames: painting costs tens of milliseconds, so more often buys nothing."""


class FrameReady(Message):
    """A new frame was read, in the reader's thread."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FrameReady)


class ReadFailed(Message):
    """The journal could not be read."""

    def __init__(self, error: ReplayerError) -> None:
        super().__init__()
        self.error = error


class ReplayerApp(App[str]):
    """Shows what `poll` reads of `folders`. Returns "stop" when the user wants the run ended, else "leave"."""

    TITLE = "replayer"
    BINDINGS: ClassVar = [
        Binding("1", "show('lanes')", "Lanes"),
        Binding("2", "show('turns')", "Turns"),
        Binding("3", "show('telemetry')", "Telemetry"),
        Binding("4", "show('log')", "Log"),
        Binding("space", "freeze", "Freeze", show=False, priority=False),
        Binding("question_mark", "keys", "Help"),
        Binding("t", "next_theme", "Theme", show=False),
        Binding("e", "export", "Export SVG", show=False),
        Binding("r", "report", "Export report", show=False),
        Binding("q", "leave", "Quit"),
    ]

    def __init__(
        self, poll: Callable[[], Frame], folders: list[Path], pins: dict[str, str] | None = None
    ) -> None:
        """`pins`: lane -> cell whose stream its column keeps to, shared with the source behind `poll`."""
        super().__init__()
        self._poll = poll
        self._pins = {} if pins is None else pins
        self._folders = folders
        self._pages: dict[str, MainScreen | TurnsScreen | TelemetryScreen | LogScreen] = {
            "lanes": MainScreen(),
            "turns": TurnsScreen(),
            "telemetry": TelemetryScreen(),
            "log": LogScreen(folders),
        }
        self._frame: Frame | None = None
        self.frames = 0
        """Frames read so far."""
        self._frozen = False
        self._reading = False

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.push_screen(self._pages["lanes"])
        self.set_interval(INTERVAL, self._ask)
        self._ask()

    def _ask(self) -> None:
        if not self._reading and not self._frozen:
            self._reading = True
            self._read()

    @work(thread=True, exclusive=True, group="reader")
    def _read(self) -> None:
        try:
            self.post_message(FrameReady(self._poll()))
        except ReplayerError as error:
            self.post_message(ReadFailed(error))

    def on_frame_ready(self, message: FrameReady) -> None:
        self._reading = False
        self._frame = message.frame
        self._paint()
        self.frames += 1

    def on_read_failed(self, message: ReadFailed) -> None:
        self.exit("leave", return_code=message.error.exit_code, message=f"replayer: {message.error}")

    def _paint(self) -> None:
        """Only the page in front is painted; the others catch up when they are shown."""
        page = self.screen_stack[-1] if self.screen_stack else None
        if self._frame is not None and isinstance(
            page, MainScreen | TurnsScreen | TelemetryScreen | LogScreen
        ):
            with self.batch_update():
                page.show(self._frame)

    def action_show(self, name: str) -> None:
        page = self._pages[name]
        while isinstance(self.screen, StepScreen):
            self.pop_screen()
        if self.screen is not page:
            self.switch_screen(page)
            self.call_after_refresh(self._paint)

    def action_freeze(self) -> None:
        self._frozen = not self._frozen
        self.notify(
            "frozen: the run goes on, the picture stays" if self._frozen else "following again", markup=False
        )

    def action_keys(self) -> None:
        self.push_screen(TextDialog(help_text()))

    def action_next_theme(self) -> None:
        names = [theme.name for theme in THEMES]
        here = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(here + 1) % len(names)]

    def action_export(self) -> None:
        path = self.save_screenshot(f"replayer-{self._view_name()}.svg", path=".")
        self.notify(f"saved {path}", markup=False)

    def action_report(self) -> None:
        if self._frame is None:
            return
        path = Path(f"replayer-{self._view_name()}.json")
        path.write_bytes(
            orjson.dumps([run_figures(view) for view in self._frame.views], option=orjson.OPT_INDENT_2)
        )
        self.notify(f"saved {path}", markup=False)

    def _view_name(self) -> str:
        return self._frame.view.run if self._frame is not None else "empty"

    def action_leave(self) -> None:
        running = self._frame is not None and any(view.state == "running" for view in self._frame.views)
        if not running:
            self.exit("leave")
            return
        self.push_screen(QuitDialog(), self._left)

    def _left(self, choice: str | None) -> None:
        if choice is not None:
            self.exit(choice)

    def on_pin_stream(self, message: PinStream) -> None:
        if message.cell is None:
            self._pins.pop(message.lane, None)
        else:
            self._pins[message.lane] = message.cell

    def on_open_step(self, message: OpenStep) -> None:
        if self._frame is None:
            return
        for folder, view in zip(self._folders, self._frame.views, strict=True):
            try:
                self.push_screen(step_screen(folder, view, message.key))
            except ReplayerError:
                continue
            return
        self.notify("this step has not been sent yet", markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for name in self._pages:
            yield SystemCommand(
                f"Show {name}", f"the {name} screen", lambda name=name: self.action_show(name)
            )
        yield SystemCommand("Freeze or follow", "stop or start painting", self.action_freeze)
        yield SystemCommand("Save the report", "as JSON in the current folder", self.action_report)


def step_screen(folder: Path, view: RunView, key: Key) -> StepScreen:
    """Raises RunFolderError when this run has no such step."""
    trace, repeat, step = key
    detail = step_detail(folder, view, trace, repeat, step)
    return StepScreen(detail, _curl(folder, view, detail))


def _curl(folder: Path, view: RunView, detail: StepDetail) -> str:
    lane = next(lane for lane in view.lanes if lane.name in detail.lanes)
    fields = {"model": lane.model, **lane.settings.get("sampling", {}), **lane.settings.get("extra", {})}
    request = open_history(folder, view, detail.trace).request(detail.turn, fields)
    return curl(lane.base_url, request)
