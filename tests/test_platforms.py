"""macOS and Windows, as far as Linux can stand in for them: see `tests/elsewhere/sitecustomize.py`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = Path(__file__).parent / "elsewhere"
IMPORT_ALL = """
import importlib, pkgutil, replayer, sys
from replayer.cli import COMMANDS, load
for package in [importlib.import_module(f"replayer.{room}") for room in ("tui", "report", "wire", "run", "tools")]:
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if ".guest" not in module.name:  # runs inside the sandbox only
            importlib.import_module(module.name)
print(sys.platform, len([load(name) for name in COMMANDS]))
"""


def on(platform: str, *words: object) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "PYTHONPATH": str(ELSEWHERE), "PRETENDED_PLATFORM": platform}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=settings, timeout=60)


def test_every_command_loads_without_the_names_of_linux() -> None:
    loaded = on("darwin", "-c", IMPORT_ALL)
    assert (loaded.stdout, loaded.stderr) == ("darwin 27\n", "")


def test_a_recorded_run_on_macos_reaches_its_report_and_is_judged_like_any(tmp_path: Path) -> None:
    run = tmp_path / "run"
    lanes = [
        f"{name}=simulated,tok_s=5000,ttft_ms=1{fault}"
        for name, fault in (("a", ""), ("b", ",fault=unknown_tool@1"))
    ]
    words = ["-m", "replayer", "run", "--trace", "first-look", "--engine", lanes[0], "--engine", lanes[1]]
    done = on("darwin", *words, "--tools", "recorded", "--out", run)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "macOS" in line] == [
        "replayer: on macOS times come without kernel stamps and real-time priority, and no tool call is run"
    ]
    report = on("darwin", "-m", "replayer", "report", run, "--json")
    usable = {lane["lane"]: lane["usable_turn_rate"]["value"] for lane in json.loads(report.stdout)["lanes"]}
    assert usable["a"] == 1.0 > usable["b"]
    audit = on("darwin", "-m", "replayer", "audit", "first-look", "--out", tmp_path / "audit")
    assert audit.returncode == 0, audit.stderr


def test_the_sandbox_of_macos_is_refused_with_what_to_do(tmp_path: Path) -> None:
    words = [
        "run",
        "--trace",
        "first-look",
        "--tools",
        "sandbox",
        "--engine",
        "a=simulated",
        "--out",
        tmp_path / "run",
    ]
    done = on("darwin", "-m", "replayer", *words)
    assert done.returncode == 3
    assert "run replayer in a Linux VM or use --tools recorded" in done.stderr
    assert "bubblewrap" not in done.stderr


@pytest.mark.parametrize("words", [["run"], ["--help"], ["report", "last"]])
def test_windows_is_refused_in_one_sentence(words: list[str]) -> None:
    done = on("win32", "-m", "replayer", *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        done.stderr
        == "replayer: Windows is not supported; run it in WSL (Linux on Windows), see `wsl --install`\n"
    )
