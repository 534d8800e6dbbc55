"""Pictures of the screen for the docs, drawn by the program itself from a run folder.

    python scripts/screenshots.py RUN docs/screens/demo [KEYS,…]

Each KEYS is what to press before a picture is taken, e.g. `2` or `2 n enter`; without any, the main screen.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from replayer.journal.log import find_run
from replayer.tui.app import ReplayerApp
from replayer.tui.source import Sources

SIZE = (150, 44)


async def draw(run: Path, target: Path, keys: list[str]) -> None:
    app = ReplayerApp(Sources([run]).poll, [run])
    async with app.run_test(size=SIZE) as pilot:
        while app.frames < 2:
            await pilot.pause(0.1)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.5)
        await pilot.pause(1)
        target.write_text(app.export_screenshot(title="replayer"), encoding="utf-8")
    print(target)


def main() -> None:
    run, stem, *wanted = sys.argv[1:]
    Path(stem).parent.mkdir(parents=True, exist_ok=True)
    for number, keys in enumerate(wanted or [""]):
        suffix = f"-{number}" if number else ""
        asyncio.run(draw(find_run(run), Path(f"{stem}{suffix}.svg"), keys.split()))


if __name__ == "__main__":
    main()
