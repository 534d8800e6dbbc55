"""Everything that outlives a process: state, lock, jobs, log."""

import json
from pathlib import Path


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def load(self, name: str, default):
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else default

    def save(self, name: str, value) -> None:
        path = self.folder / f"{name}.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(value, indent=1))
        fresh.replace(path)

    def drop(self, name: str) -> None:
        (self.folder / f"{name}.json").unlink(missing_ok=True)

    def log(self, clock, level: str, text: str) -> None:
        with (self.folder / "log").open("a") as file:
            file.write(f"{clock} {level:5} {text}\n")

    def log_tail(self, count: int) -> list[str]:
        path = self.folder / "log"
        return path.read_text().splitlines()[-count:] if path.exists() else []
