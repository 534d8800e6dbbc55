"""The screen's application: samples a source four times a second and paints what it got."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.events import Event, InputEvent, MouseDown, Paste, Resize
from textual.events import Key as KeyPressed
from textual.message import Message
from textual.screen import Screen

from replayer.errors import ReplayerError
from replayer.report.saving import write
from replayer.tui.dialogs import QuitDialog, TextDialog, help_text
from replayer.tui.keys import Keys
from replayer.tui.messages import Key, NextTurn, OpenTurn, PinStream, Save
from replayer.tui.pages import AT_END, MANY, PAGES, REPORTS, SHEETS, Page, Sheet
from replayer.tui.rest import Rest
from replayer.tui.text import safe
from replayer.tui.themes import THEMES

if TYPE_CHECKING:
    from replayer.tui.source import Frame

INTERVAL = 0.25
"""Seconds between frames: painting costs tens of milliseconds, so more often buys nothing."""
_MOST_NAME = 60
"""Characters of a file's name: file systems take 255 bytes, and a character may be four of them."""
_FILE_NAME = re.compile(r"[^\w.+-]+")
_SLOWEST = 1.0
"""Seconds between frames however much there is to do."""
_IDLE = 1.0
"""Seconds between two looks at a run where nothing is new, and for which a page goes on painting after a key."""


@dataclass
class FrameReady(Message):
    """A new frame was read, in the reader's thread."""

    frame: Frame

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FrameReady)


@dataclass
class ReadFailed(Message):
    """The journal could not be read."""

    error: ReplayerError


class ReplayerApp(App[str]):
    """Shows what `poll` reads of `folders`. Returns "stop" when the user wants the run ended, else "leave"."""

    TITLE = "replayer"
    CSS = """
    .no-color LaneColumn.alarm { border: heavy white; }
    .no-color LaneColumn.alarm > .banner { background: white; color: black; text-style: bold not italic; }
    """
    """With NO_COLOR an error's red would be a grey like the others."""
    BINDINGS: ClassVar = [
        *(Binding(str(key), f"show('{name}')", name.capitalize()) for key, name in enumerate(PAGES, 1)),
        Binding("space", "freeze", "Freeze", show=False, priority=False),
        Binding("question_mark", "keys", "Help"),
        Binding("t", "next_theme", "Theme", show=False),
        Binding("e", "export", "Export SVG", show=False),
        Binding("r", "report('html')", "Save the report as HTML", show=False),
        Binding("j", "report('json')", "Save the report as JSON", show=False),
        Binding("q", "leave", "Quit"),
        Binding("ctrl+q", "leave", "Quit", show=False, priority=True),
        Binding("ctrl+c", "leave", "Quit", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False),
    ]

    def __init__(
        self,
        poll: Callable[[], Frame],
        folders: list[Path],
        pins: dict[str, str] | None = None,
        rest: Rest | None = None,
        *,
        share: float = 1.0,
        interval: float = INTERVAL,
    ) -> None:
        """`pins`: lane -> session whose stream its column keeps to. They and `rest` are shared with the source behind
        `poll`. `share` of a core is what all of it may take before frames get rarer, `interval` the seconds between
        frames."""
        super().__init__()
        self._poll = poll
        self._pins = {} if pins is None else pins
        self._rest = Rest() if rest is None else rest
        self._folders = folders
        self._pages: dict[str, Page] = {}
        self._frame: Frame | None = None
        self.frames = 0
        """Frames read so far."""
        self.painted = 0
        """Times that a page was painted whole."""
        self._frozen = False
        self._reading = False
        self._share, self._interval = share, interval
        self._asked, self._cpu = 0.0, 0.0
        self._touched = 0.0
        """When a key, the mouse or the size of the terminal last changed something."""
        self._whole: Page | None = None
        self._times = 0
        """That the page in front was painted whole since it, a key or a size came: at first its widths may not be known."""
        """The page that shows all of the newest frame."""
        self._ended = False
        """The run's end was seen, so that the page in front is the user's choice."""
        self._idle = False
        """Nothing was new when the run was last looked at."""
        self.failed: ReplayerError | None = None
        """Why the run can be read no longer, where that ended the screen."""

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.set_class(self.no_color, "no-color")
        self.push_screen(self._page("lanes"))
        self.set_interval(self._interval, self._ask)
        self._ask()

    async def on_event(self, event: Event) -> None:
        if isinstance(event, KeyPressed | MouseDown):
            self._rest.key_pressed()
        if isinstance(event, InputEvent | Resize):
            self._touched = time.monotonic()
            self._times = 0
        elif isinstance(event, Paste):  # a clipboard may hold model output
            event.text = safe(event.text)
        await super().on_event(event)

    def _ask(self) -> None:
        now = time.monotonic()
        if self._idle and now - self._asked < _IDLE and now - self._touched > _IDLE:
            return
        if not self._reading and not self._frozen and self._may_work():
            self._reading = True
            self._read()

    def _may_work(self) -> bool:
        """Whether the work since the last frame was asked for has left its share of the processor free."""
        now, cpu = time.monotonic(), time.process_time()
        passed = now - self._asked
        behind = self._frame is None or self._frame.behind
        if cpu - self._cpu > self._share * passed and passed < _SLOWEST and not behind:
            return False
        self._asked, self._cpu = now, cpu
        return True

    @work(thread=True, exclusive=True, group="reader")
    def _read(self) -> None:
        try:
            self.post_message(FrameReady(self._poll()))
        except ReplayerError as error:
            self.post_message(ReadFailed(error))

    def on_frame_ready(self, message: FrameReady) -> None:
        self._reading = False
        self._idle, self._frame = message.frame is self._frame, message.frame
        shown = bool(self.screen_stack) and self.screen_stack[-1] is self._whole
        if self._idle and shown and self._times > 1 and time.monotonic() - self._touched > _IDLE:
            self.painted += 1  # it is there: painting it again would cost as much as the first time
        else:
            self._paint()
        self.frames += 1
        self._show_end(message.frame)

    def _show_end(self, frame: Frame) -> None:
        """Once, and only from the page of the start: who reads a turn or a log is not disturbed."""
        ended = not frame.behind and all(view.state == "finished" for view in frame.views)
        many = self.frames == 1 and sum(len(view.lanes) for view in frame.views) > MANY
        if (many or (ended and not self._ended)) and self.screen is self._page("lanes"):
            self.action_show(AT_END)
        self._ended = ended

    def on_read_failed(self, message: ReadFailed) -> None:
        self.failed = message.error
        self.exit("leave", return_code=message.error.exit_code)

    def _paint(self) -> None:
        """Only the page in front is painted; the others catch up when they are shown. A frame may come before a page
        is there, and after it is gone."""
        page = self.screen_stack[-1] if self.screen_stack else None
        if self._frame is not None and isinstance(page, Page) and page.is_mounted:
            with self.batch_update():
                whole = page.show(self._frame)
            self.painted += whole
            self._times = self._times + 1 if whole and page is self._whole else int(whole)
            self._whole = page if whole else None

    def _page(self, name: str) -> Page:
        """Made when it is first shown."""
        if name not in self._pages:
            self._pages[name] = page = PAGES[name]()
            page.folders = self._folders
            self.install_screen(page, name)
        return self._pages[name]

    def action_show(self, name: str) -> None:
        page = self._page(name)
        while isinstance(self.screen, Sheet):
            self.pop_screen()
        if self.screen is not page:
            self.switch_screen(page)
            self.call_after_refresh(self._paint)

    def action_freeze(self) -> None:
        self._frozen = not self._frozen
        self.set_class(self._frozen, "frozen")
        self.screen.query(Keys).refresh()
        self.notify(
            "frozen: the run goes on, the picture stays" if self._frozen else "following again", markup=False
        )

    def action_keys(self) -> None:
        self.push_screen(TextDialog(help_text(self.size.width)))

    def action_next_theme(self) -> None:
        names = [theme.name for theme in THEMES]
        here = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(here + 1) % len(names)]

    def action_export(self) -> None:
        self._save(f"replayer-{self._view_name()}.svg", self.export_screenshot(title="replayer"))

    @work(thread=True, exclusive=True, group="report")
    def action_report(self, form: str) -> None:
        """As `replayer report` writes it: finished sessions only."""
        try:
            words = REPORTS[form](self._folders)
        except ReplayerError as error:
            self.call_from_thread(self.notify, safe(str(error)), severity="error", markup=False)
        else:
            self.call_from_thread(self._save, f"replayer-{self._view_name()}.{form}", words)

    def _view_name(self) -> str:
        return self._frame.view.run if self._frame is not None else "empty"

    async def action_quit(self) -> None:
        """The command palette's."""
        self.action_leave()

    def action_leave(self) -> None:
        """Asks once, where the run goes on; who presses it again leaves the run running."""
        running = self._frame is not None and any(view.state == "running" for view in self._frame.views)
        if not running or isinstance(self.screen, QuitDialog):
            self.exit("leave")
            return
        self.push_screen(QuitDialog(), self._left)

    def _left(self, choice: str | None) -> None:
        if choice is not None:
            self.exit(choice)

    def on_next_turn(self, message: NextTurn) -> None:
        here, frame = self.screen, self._frame
        if not isinstance(here, Sheet) or frame is None:
            return
        key = self._page("turns").neighbour(here.at, message.by, frame, faulty=message.faulty)
        if key is None:
            self.notify("no turn has a fault" if message.faulty else "no further turn", markup=False)
        else:
            self._open(key, self.switch_screen)

    def _open(self, key: Key, put: Callable[[Sheet], object]) -> None:
        if self._frame is None:
            return
        try:
            put(SHEETS["turn"](self._folders, self._frame, key))
        except ReplayerError as error:
            self.notify(safe(str(error)), severity="warning", markup=False)

    def on_save(self, message: Save) -> None:
        self._save(message.name, message.words)

    def on_pin_stream(self, message: PinStream) -> None:
        if message.session is None:
            self._pins.pop(message.lane, None)
        else:
            self._pins[message.lane] = message.session

    def on_open_turn(self, message: OpenTurn) -> None:
        self._open(message.key, self.push_screen)

    def _save(self, name: str, words: str | bytes) -> None:
        stem, dot, ending = _FILE_NAME.sub("-", name).rpartition(".")
        path = Path(stem[:_MOST_NAME] + dot + ending)
        try:
            write(path, words)
        except ReplayerError as error:
            self.notify(safe(str(error)), severity="error", markup=False)
        else:
            self.notify(f"saved {safe(str(path.absolute()))}", markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from (own for own in super().get_system_commands(screen) if own.title != "Screenshot")
        for name in PAGES:
            yield SystemCommand(f"Show {name}", f"the {name} screen", partial(self.action_show, name))
        yield SystemCommand("Freeze or follow", "stop or start painting", self.action_freeze)
        yield SystemCommand("Save the screen", "as SVG in the current folder", self.action_export)
        yield SystemCommand("Save the report as HTML", "one page, here", partial(self.action_report, "html"))
        as_json = partial(self.action_report, "json")
        yield SystemCommand("Save the report as JSON", "as report --json, here", as_json)
