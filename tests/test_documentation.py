"""The documentation site: builds without a warning, and the commands of its tutorial do what they say."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from replayer.cli import COMMANDS

REPOSITORY = Path(__file__).parents[1]
TUTORIAL = REPOSITORY / "docs" / "index.md"


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_no_other_host(tmp_path: Path) -> None:
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    settings = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, env=settings)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page: page.read_text() for page in tmp_path.rglob("*.html")}
    for page, text in pages.items():
        assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"?https?:", text), page
    commands = (tmp_path / "commands" / "index.html").read_text()
    assert all(f'id="{name}"' in commands for name in COMMANDS)


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run_in_their_order(tmp_path: Path) -> None:
    blocks = re.findall(r"^```\n(.*?)^```", TUTORIAL.read_text(), re.S | re.M)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("replayer ")]
    assert len(lines) == 4
    for line in lines:
        words = [sys.executable, "-m", "replayer", *shlex.split(line)[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (line, done.stderr)
    assert "a is better than b" in done.stdout
    assert "http-equiv" in (tmp_path / "first.html").read_text()
