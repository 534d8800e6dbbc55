"""Files that are never seen half-written."""

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    os.replace(fresh, path)
