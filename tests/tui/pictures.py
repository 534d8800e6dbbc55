"""Run folders in every state, and the text of what the screen shows of them."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from typing import Any

import orjson
from rich.cells import set_cell_size
from textual.app import App
from textual.pilot import Pilot
from textual.screen import ModalScreen

from replayer.journal.events import (
    Alarm,
    LaneReady,
    RunFinished,
    RunStarted,
    SessionFinished,
    SessionStarted,
    SignalFinding,
    ToolRunFinished,
    TurnFinished,
    TurnStarted,
    VerdictGiven,
)
from replayer.journal.log import JournalWriter, create_folder
from replayer.journal.packing import pack
from replayer.traces.library import find
from replayer.tui.app import ReplayerApp
from replayer.tui.source import Sources
from replayer.tui.turn_screen import TurnScreen

_TEXT = re.compile(r'<text(?![^>]*-title")[^>]*?x="([\d.]+)"[^>]*?y="([\d.]+)"[^>]*>(.*?)</text>', re.S)
SESSION_WIDTH, LINE_HEIGHT = 12.2, 24.4


class Folder:
    """Writes a run folder event by event, with times that never change."""

    def __init__(self, path: Path, lanes: dict[str, dict[str, Any]], turns: int = 6, repeat: int = 1) -> None:
        create_folder(path)
        self.path = path
        self.journal = JournalWriter(path)
        self.at = 1_000_000_000
        self.attempt, self.repeat = 1, 0
        """Of the session that turns are written to."""
        plan = {
            "traces": ["session"],
            "mode": "recorded",
            "tools": "recorded",
            "repeat": repeat,
            "lane": [{"name": name, "launch": "simulated"} for name in lanes],
        }
        self.add(RunStarted(run_id=path.name, wall=0.0, version="0", plan=plan, turns={"session": turns}))
        for name, settings in lanes.items():
            self.add(
                LaneReady(
                    lane=name,
                    kind="vllm",
                    model="test-model",
                    base_url="http://127.0.0.1:1/v1",
                    facts={"kv_pool_tokens": 139_515},
                    settings={"sampling": settings},
                )
            )
            for number in range(repeat):
                self.add(
                    SessionStarted(
                        session=f"{name}/session/{number}", attempt=1, lane=name, trace="session", repeat=number,
                        turns=turns, mode="recorded", tools="recorded", cache_reset="yes",
                    )
                )  # fmt: skip

    def add(self, event: Any) -> None:
        self.at += 250_000_000
        self.journal.append(event.model_copy(update={"at": self.at}))

    def where(self, lane: str, turn: int) -> dict[str, Any]:
        return {"session": f"{lane}/session/{self.repeat}", "attempt": self.attempt, "turn": turn}

    def turn(
        self, lane: str, turn: int, *, faults: tuple[str, ...] = (), message: str = "", start: bool = True,
        **more: Any,
    ) -> None:  # fmt: skip
        """One finished and judged turn; `message` is that of its faults, `more` overrides what the engine said."""
        if start:
            self.add(
                TurnStarted(**self.where(lane, turn), recorded_turn=turn, body_bytes=4000, wall=self.at / 1e9)
            )
        arrivals = [50_000_000 + 10_000_000 * n for n in range(20)]
        said: dict[str, Any] = {
            "content": "I look at the parser first.",
            "reasoning": "",
            "tool_calls": [{"index": 0, "id": "c1", "name": "read_file", "arguments": '{"path":"a.py"}'}],
            "finish_reason": "tool_calls",
            "usage": {
                "prompt_tokens": 1000 + 200 * turn,
                "cached_tokens": 900 + 190 * turn,
                "completion_tokens": 40,
            },
            "usage_source": "usage",
            "done": True,
            "fault": None,
            "retries": 0,
            "headers_ns": 1_000_000,
            "ttft_ns": 50_000_000 + 1_000_000 * turn,
            "total_ns": 400_000_000,
            "arrivals": pack(arrivals),
            "deltas": len(arrivals),
        } | more
        self.add(TurnFinished(**self.where(lane, turn), **said))
        self.add(
            VerdictGiven(
                **self.where(lane, turn),
                usable=not faults,
                faults=[
                    {"klass": name, "blame": "model", "message": message or f"about {name}", "fatal": True,
                     "call_index": 0 if said["tool_calls"] else None, "path": "/path"}
                    for name in faults
                ],
            )
        )  # fmt: skip

    def collapse(self, lane: str, turn: int, unit: str = "(Sigh) (Laughter) ") -> None:
        self.add(
            TurnStarted(**self.where(lane, turn), recorded_turn=turn, body_bytes=4000, wall=self.at / 1e9)
        )
        finding = {"level": "collapsed", "kind": "cycle", "unit": unit, "onset": 40, "wasted_chars": 420}
        self.add(
            Alarm(**self.where(lane, turn), signal="repetition", version=1, finding=finding, stopped=True)
        )

    def recorded(self) -> None:
        """Give the run its trace, so that turns can be opened: a shipped session of eight turns."""
        (self.path / "traces" / "session").mkdir(parents=True)
        shutil.copy(find("fix-failing-test"), self.path / "traces" / "session" / "trace.jsonl")

    def prefix(self, lane: str, turn: int, **more: Any) -> None:
        """What the prefix signal says of a turn."""
        finding: dict[str, Any] = {
            "key": f"{lane}/session/0/{turn}", "prompt_tokens": 1400, "ideal_tokens": 410, "reported_tokens": 400,
            "cause": "clock_or_date", "lost_tokens": 900, "path": "messages[0].content", "message_index": 0,
            "offset": 409, "excerpt_before": "Today is Friday, 09:05. Keep to", "detail": "",
            "excerpt_after": "Today is Friday, 09:08. Keep to",
        } | more  # fmt: skip
        self.add(SignalFinding(**self.where(lane, turn), signal="prefix_reuse", version=1, finding=finding))

    def ran(self, lane: str, turn: int, output: str, **more: Any) -> None:
        """The result of a turn's first call."""
        said: dict[str, Any] = {
            "call_index": 0,
            "name": "read_file",
            "outcome": "ok",
            "output": output,
        } | more
        self.add(ToolRunFinished(**self.where(lane, turn), **said))

    def stream(self, lane: str, turn: int, text: str, channel: str = "content", repeat: int = 0) -> None:
        """What the live feed would hold."""
        call = 0 if channel.startswith("tool") else -1
        line = {
            "session": f"{lane}/session/{repeat}",
            "turn": turn,
            "channel": channel,
            "call": call,
            "text": text,
        }
        with (self.path / "live" / f"{lane}.jsonl").open("ab") as stream:
            stream.write(orjson.dumps(line) + b"\n")

    def finish(self, *lanes: str, exit_code: int = 0, reasons: tuple[str, ...] = ()) -> None:
        for lane in lanes:
            self.add(SessionFinished(session=f"{lane}/session/0", attempt=1, outcome="done"))
        self.add(RunFinished(exit_code=exit_code, reasons=list(reasons)))
        self.journal.close()


def app_on(*folders: Path) -> ReplayerApp:
    pins: dict[str, str] = {}
    return ReplayerApp(Sources(folders, pins).poll, list(folders), pins, interval=0.05)


def picture(app: App[Any]) -> str:
    """The text on the screen, line by line, as the exported picture has it."""
    lines: dict[int, dict[int, str]] = {}
    svg = app.export_screenshot(simplify=True)
    for x, y, text in _TEXT.findall(svg):
        row = round((float(y) - 18.5) / LINE_HEIGHT)
        column = round(float(x) / SESSION_WIDTH)
        lines.setdefault(row, {})[column] = html.unescape(text).replace("\xa0", " ")
    width = app.size.width
    return "\n".join(_line(lines.get(row, {}), width) for row in range(app.size.height)) + "\n"


def _line(runs: dict[int, str], width: int) -> str:
    line = ""
    for column, text in sorted(runs.items()):
        line = set_cell_size(line, column) + text
    return set_cell_size(line, width).rstrip()


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the newest frame was read and painted whole; behind a dialog nothing is painted."""
    app = pilot.app
    assert isinstance(app, ReplayerApp)
    before = app.frames, app.painted
    for _ in range(2400):
        behind = isinstance(app.screen, ModalScreen | TurnScreen)
        if app.frames >= before[0] + 2 and (behind or app.painted >= before[1] + 2):
            break
        assert app.is_running, "the screen ended"
        await pilot.pause(0.05)
    else:
        raise AssertionError("the page in front was never painted whole")
    await pilot.pause()
