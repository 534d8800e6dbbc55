"""`record` as a process of its own: what it prints, and that Ctrl-C leaves whole traces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from replayer.engines.simulated import SimulatedSpec, launch
from replayer.traces.reader import Trace


async def test_record_ends_on_ctrl_c_with_whole_traces(tmp_path: Path) -> None:
    engine = await launch(SimulatedSpec())
    command = [
        sys.executable,
        "-m",
        "replayer",
        "record",
        "--upstream",
        engine.base_url,
        "-o",
        str(tmp_path / "out"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy())
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[1]
        body = {"model": "simulated", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        async with httpx.AsyncClient() as client:
            answer = await client.post(
                f"{url}/chat/completions", json=body, headers={"authorization": "Bearer secret"}
            )
        assert answer.status_code == 200
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        await engine.stop()
    assert process.returncode == 0 and "1 turns, 0 tool calls" in printed
    [path] = (tmp_path / "out").iterdir()
    with Trace.open(path) as trace:
        assert trace.complete and len(trace.turns) == 1
    assert "secret" not in path.read_text()
