"""What a user keeps to himself stays there: a run folder is its owner's, and no secret of a lane is written down."""

from __future__ import annotations

import os
from pathlib import Path

from replayer.cli import main


def test_a_run_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder, before = tmp_path / "run", os.umask(0o022)
    try:
        words = ["--trace", "first-look", "--engine", "a=simulated", "--max-lag", "60000"]
        assert main(["run", "--plain", *words, "--out", str(folder)]) == 0
    finally:
        os.umask(before)
    found = {path: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    assert {path.name for path in found} >= {"journal.jsonl", "trace.jsonl", "a.jsonl"}
    wrong = {path: oct(mode) for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)}
    assert not wrong
