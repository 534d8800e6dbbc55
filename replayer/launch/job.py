"""Starts a run for a command and follows it to its end: in this process, or in one of its own with a screen on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from replayer.errors import Interrupted, ReplayerError
from replayer.journal.events import AnyEvent
from replayer.journal.log import writer_pid
from replayer.journal.parts import JOURNAL
from replayer.journal.view import Following, load
from replayer.launch.progress_bars import Bars, LineProgress
from replayer.run.job import Job
from replayer.text import safe
from replayer.tui.terminal import is_terminal, why_no_screen

Perform = Callable[[Job, Callable[[AnyEvent], None] | None], int]
"""Runs a job in this process (`replayer.run.runner.perform`)."""

Screen = Callable[[Path], str]
"""Shows the run in a folder until its user leaves; returns what they chose for the runner: stop or leave."""


def follow(job: Job, perform: Perform, screen: Screen, *, plain: bool) -> int:
    """Run the job and show it: the screen on a terminal, bars with `plain`, lines where there is no terminal."""
    bars = plain and is_terminal(sys.stdout) and is_terminal(sys.stderr)
    if why_no_screen() and not bars:
        return perform(job, LineProgress(job.plan, sys.stderr, _turns_before(job.folder)).event)
    with tempfile.TemporaryFile("w+") as errors:
        runner = _spawn(job, errors)
        if not _wait_for_journal(job.folder, runner):
            return _failed(runner, errors)
        if bars:
            return _watch_bars(job, runner, errors)
        try:
            choice = screen(job.folder)
        except ReplayerError as error:
            print(f"replayer: {error}", file=sys.stderr)
            choice = "leave"
        if choice == "stop":
            runner.send_signal(signal.SIGTERM)
            runner.wait()
        return _after_screen(job, runner, errors)


def _turns_before(folder: Path) -> dict[str, int]:
    """By lane, turns of the sessions that earlier processes of the run have brought to their end."""
    lanes = load(folder).lanes if (folder / JOURNAL).exists() else ()
    return {lane.name: sum(one.finished for one in lane.attempts if one.complete) for lane in lanes}


def _spawn(job: Job, errors: IO[str]) -> subprocess.Popen[str]:
    """The runner is a process session of its own: a lost terminal does not end it."""
    runner = subprocess.Popen(
        [sys.executable, "-m", "replayer.launch.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    assert runner.stdin is not None
    runner.stdin.write(job.dump())
    runner.stdin.close()
    return runner


def _wait_for_journal(folder: Path, runner: subprocess.Popen[str]) -> bool:
    """Whether the run started; while engines load, nothing is in the folder yet."""
    try:
        while runner.poll() is None:
            if writer_pid(folder) == runner.pid and (folder / JOURNAL).stat().st_size:
                return True
            time.sleep(0.05)
    except KeyboardInterrupt:
        runner.send_signal(signal.SIGTERM)
        runner.wait()
        raise Interrupted("interrupted before the first request was sent") from None
    return (folder / JOURNAL).exists() and runner.returncode in (0, 1)


def _watch_bars(job: Job, runner: subprocess.Popen[str], errors: IO[str]) -> int:
    following = Following(job.folder)
    with Bars(job.plan) as bars:
        try:
            while True:
                ended = runner.poll() is not None
                following.read()
                bars.show(following.view(running=not ended))
                if ended:
                    break
                time.sleep(0.25)
        except KeyboardInterrupt:
            runner.send_signal(signal.SIGTERM)
            runner.wait()
    return _failed(runner, errors) if runner.returncode not in (0, 1) else runner.returncode


def _after_screen(job: Job, runner: subprocess.Popen[str], errors: IO[str]) -> int:
    if runner.poll() is None:
        name = safe(str(job.folder))
        print(
            f"the run goes on in process {runner.pid}: `replayer watch {name}` shows it, "
            f"`replayer stop {name}` ends it",
            file=sys.stderr,
        )
        return 0
    return _failed(runner, errors) if runner.returncode not in (0, 1) else runner.returncode


def _failed(runner: subprocess.Popen[str], errors: IO[str]) -> int:
    runner.wait()
    errors.seek(0)
    sys.stderr.write(errors.read())
    return runner.returncode if runner.returncode >= 0 else 128 - runner.returncode


def stop(folder: Path) -> bool:
    """Ask the run's writer to end, and wait until it has; False when nothing was running."""
    pid = writer_pid(folder)
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 30
    while writer_pid(folder) == pid:
        if time.monotonic() > deadline:
            raise ReplayerError(f"process {pid} did not end within 30 s; look at it, then end it by hand")
        time.sleep(0.05)
    return True
