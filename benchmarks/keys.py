"""What a key costs on a finished run: milliseconds of the processor from the press to the answer, the median and the most.

    python -m benchmarks.keys RUN [--times 3]

Goal: 100 ms each, on a run of 100,000 turns. A page that is shown for the first time counts too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import time
from pathlib import Path

from textual.pilot import Pilot

from replayer.tui.app import ReplayerApp
from replayer.tui.pages import PAGES
from replayer.tui.rest import Rest
from replayer.tui.source import Sources
from replayer.tui.watch import COLLECT, settled_memory

ANYWHERE = "question_mark escape t t t t space space"
OF_PAGES = {
    "lanes": "o o i escape u escape left right h l p f tab",
    "turns": "down up pagedown pageup end home z z n N f f slash 9 9 backspace escape enter",
    "turn": "right left n N o o c tab escape",
    "telemetry": "down up",
    "log": "down up",
    "summary": "down up",
}


class Bench:
    def __init__(self, pilot: Pilot[str]) -> None:
        self._pilot = pilot
        self.cost: dict[tuple[str, str], list[float]] = {}

    async def press(self, page: str, keys: str) -> None:
        for key in keys.split():
            await self._pilot.pause(1.2)  # what the key before brought about has been painted
            began = time.process_time()
            await self._pilot.press(key)
            await self._pilot.pause()
            self.cost.setdefault((page, key), []).append(1000 * (time.process_time() - began))


async def measured(folder: Path, times: int) -> Bench:
    pins: dict[str, str] = {}
    rest = Rest()
    poll = settled_memory(Sources([folder], pins, rest).poll)
    app = ReplayerApp(poll, [folder], pins, rest)
    async with app.run_test(size=(160, 48)) as pilot:
        while not app._idle or app._frame is None or app._frame.behind:
            await pilot.pause(0.2)
        bench = Bench(pilot)
        for _ in range(times):
            for number, page in enumerate(PAGES, 1):
                await bench.press("any page", str(number))
                await bench.press(page, OF_PAGES[page])
                if page == "turns":
                    await bench.press("turn", OF_PAGES["turn"])
            await bench.press("any page", ANYWHERE)
    return bench


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    gc.set_threshold(*COLLECT)
    for (page, key), cost in asyncio.run(measured(asked.run, asked.times)).cost.items():
        print(f"{page:10} {key:14} {statistics.median(cost):6.0f} ms  most {max(cost):6.0f}")


if __name__ == "__main__":
    main()
