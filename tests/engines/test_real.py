"""Real vLLM and real llama.cpp in one run (opt-in: `scripts/setup-real-engines`, then `pytest -m real`)."""

import asyncio
import contextlib
import json
import os
import socket
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

REAL = Path(os.environ.get("REPLAYER_REAL") or Path.home() / ".cache/replayer/real")


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def vllm_command(port):
    python, model = REAL / "venv/bin/python", REAL / "smollm2"
    assert python.exists() and (model / "model.safetensors").exists(), "run scripts/setup-real-engines first"
    flags = "--served-model-name smollm2 --dtype bfloat16 --max-model-len 8192 --enforce-eager --enable-auto-tool-choice"
    flags += (
        " --tool-call-parser hermes --enable-prefix-caching --enable-prompt-tokens-details --host 127.0.0.1"
    )
    setting = ["env", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_SERVER_DEV_MODE=1"]
    run = [
        str(python),
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        str(model),
        "--port",
        str(port),
    ]
    return [*setting, *run, *flags.split()]


async def test_vllm_and_llamacpp_in_one_run(tmp_path):
    """Each report is filled from its own engine's telemetry, and counters and usage agree to the token."""
    port = free_port()
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        traces = ["fix-failing-test"]
        order = "sequential"
        max_tokens = 24
        [[lane]]
        name = "vllm"
        command = {json.dumps(vllm_command(port))}
        url = "http://127.0.0.1:{port}/v1"
        sampling = {{ temperature = 0 }}
        [[lane]]
        name = "llamacpp"
        launch = "embedded"
        sampling = {{ temperature = 0 }}
        [limits]
        lag_ms = 60000
        """
    )
    folder = tmp_path / "run"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "replayer", "run", str(plan), "--out", str(folder), "--json", "--plain",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0
    report = json.loads(out)
    turns = unknown = 0
    for lane in report["lanes"]:
        server, tokens = lane["server"], lane["tokens"]
        assert lane["turns"] == 8 and lane["errors"] == {}
        assert server["complete"], server
        assert server["tokens"]["cached"] == tokens["cached"] > 0
        assert server["tokens"]["prompt"] == tokens["prompt"]
        assert server["tokens"]["generated"] == tokens["completion"] > 0
        turns += lane["turns"]
        unknown += lane["prefix_cache"]["causes"].get("unknown", 0)
        print(lane["lane"], lane["tokens"], lane["prefix_cache"])
    print(f"unknown turns: {unknown} of {turns}")
    assert unknown <= 0.05 * turns
    ready = [
        json.loads(line)
        for line in (folder / "journal.jsonl").read_text().splitlines()
        if "lane_ready" in line
    ]
    facts = {event["lane"]: event["facts"] for event in ready}
    assert facts["vllm"]["version"] == "0.32.0" and facts["vllm"]["block_size"] == 128
    assert facts["vllm"]["log"]["asked"]["enable_prompt_tokens_details"] is True
