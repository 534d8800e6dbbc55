"""Lanes over one or several servers, over a LoRA adapter, over a command; and servers that fail while lanes run."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from replayer.traces.library import shipped
from tests.engines.relay import relay

pytestmark = pytest.mark.slow

TRACE = "fix-failing-test"
CAPTURES = Path(__file__).parents[1] / "captures"


async def replay(plan, folder, *more):
    """The run's report. `plan` is TOML; limits of lag and errors are lifted, so that a busy machine changes nothing."""
    file = folder / "plan.toml"
    file.write_text(f'traces = ["{TRACE}"]\n{plan}\n[limits]\nlag_ms = 60000\nerrors = 1.0\n')
    command = [
        sys.executable,
        "-m",
        "replayer",
        "run",
        str(file),
        "--out",
        str(folder / "run"),
        "--json",
        "--plain",
        *more,
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await asyncio.wait_for(process.communicate(), 600)
    assert process.returncode in (0, 1), errors.decode()
    return json.loads(out)


def events(folder, kind):
    lines = (folder / "run" / "journal.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def free_port():
    """Below the ports that the system gives to connections, so that none takes it before the server does."""
    for port in range(20_000 + os.getpid() % 5000, 32_000):
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


async def test_a_lora_adapter_is_a_lane_of_its_own_with_its_own_cache(start, tmp_path):
    server = await start(kind="vllm", model="base", lora=["base-tuned"], trace=[])
    plan = f'''
    order = "sequential"
    warm_up = false
    [[lane]]
    name = "base"
    url = "{server.base_url}"
    model = "base"
    [[lane]]
    name = "tuned"
    url = "{server.base_url}"
    model = "base-tuned"
    '''
    report = await replay(plan, tmp_path)
    base, tuned = report["lanes"]
    assert (base["model"], tuned["model"]) == ("base", "base-tuned")
    assert base["errors"] == tuned["errors"] == {}
    assert base["tokens"]["prompt"] == tuned["tokens"]["prompt"]
    assert base["tokens"]["cached"] == tuned["tokens"]["cached"] > 0
    facts = events(tmp_path, "lane_ready")[0]["facts"]
    assert facts["effective"]["lora"] == ["base-tuned"]


async def test_sessions_are_pinned_to_one_of_two_instances(start, tmp_path):
    """Every session's turns go to one server: reuse is as good as with one, and both servers worked."""
    servers = [await start(kind="sglang") for _ in range(2)]
    urls = json.dumps([server.base_url for server in servers])
    plan = f'repeat = 4\nconcurrency = 2\n[[lane]]\nname = "pair"\nurls = {urls}\nkind = "sglang"\n'
    report = await replay(plan, tmp_path)
    lane = report["lanes"][0]
    one = await start(kind="sglang")
    (tmp_path / "one").mkdir()
    single = await replay(f'repeat = 4\n[[lane]]\nname = "one"\nurl = "{one.base_url}"\n', tmp_path / "one")
    assert lane["turns"] == 32 and lane["errors"] == {}
    assert lane["prefix_cache"]["reported"] == pytest.approx(
        single["lanes"][0]["prefix_cache"]["reported"], abs=0.01
    )
    readings = events(tmp_path, "telemetry")
    last = {event["instance"]: event["sample"] for event in readings}
    assert len(last) == 2 and all(sample["generated_tokens"] > 200 for sample in last.values())
    server = lane["server"]
    assert server["complete"] and server["foreign_tokens"] == {"prompt": 0.0, "generated": 0.0}


async def test_server_counters_agree_with_usage_for_every_kind(start, tmp_path):
    lanes = ""
    for kind in ("vllm", "sglang", "llamacpp"):
        server = await start(kind=kind)
        lanes += f'[[lane]]\nname = "{kind}"\nurl = "{server.base_url}"\n'
    report = await replay(lanes, tmp_path)
    for lane in report["lanes"]:
        server, tokens = lane["server"], lane["tokens"]
        assert server["tokens"]["cached"] == tokens["cached"], lane["lane"]
        assert server["foreign_tokens"] == {"prompt": 0.0, "generated": 0.0}, lane["lane"]


async def test_foreign_traffic_is_said(start, tmp_path):
    server = await start(kind="vllm", tok_s=300)
    task = asyncio.ensure_future(replay(f'[[lane]]\nname = "a"\nurl = "{server.base_url}"\n', tmp_path))
    from replayer.engines.detect import connect

    engine = await connect(server.base_url)
    while not task.done():
        with contextlib.suppress(Exception):
            await engine.http.post(
                f"{engine.base_url}/chat/completions",
                json={"messages": [{"role": "user", "content": "I am somebody else"}]},
            )
        await asyncio.sleep(0.2)
    await engine.aclose()
    assert (await task)["lanes"][0]["server"]["foreign_tokens"]["generated"] > 0


async def test_metrics_that_are_off_mark_the_figures_and_the_run_goes_on(start, tmp_path):
    server = await start(kind="sglang", report_metrics=False, report_cached=False)
    report = await replay(f'[[lane]]\nname = "a"\nurl = "{server.base_url}"\n', tmp_path)
    lane = report["lanes"][0]
    assert lane["turns"] == 8 and lane["errors"] == {}
    assert lane["server"]["complete"] is False and lane["server"]["why"] == ["off"]
    assert lane["prefix_cache"]["reported"] is None and lane["tokens"]["cached"] is None


async def test_a_metrics_page_that_times_out_marks_the_figures(start, tmp_path):
    server = await start(kind="vllm", metrics_delay=30)
    report = await replay(f'[[lane]]\nname = "a"\nurl = "{server.base_url}"\n', tmp_path)
    lane = report["lanes"][0]
    assert lane["turns"] == 8 and lane["errors"] == {}
    assert lane["server"]["why"] == ["timeout"] and lane["server"]["tokens"]["generated"] is None


def simulate(port, *more):
    return [sys.executable, "-m", "replayer", "simulate", "--port", str(port), "--trace", TRACE, *more]


async def until_turns(run, folder, count):
    while not ((folder / "run" / "journal.jsonl").exists() and len(turns(folder)) >= count):
        assert not run.done(), "the run ended too soon"
        await asyncio.sleep(0.05)


def turns(folder):
    return [line for line in journal(folder) if '"turn_finished"' in line]


def journal(folder):
    """Whole lines: the last one may still be in the writing."""
    return (folder / "run" / "journal.jsonl").read_text().splitlines(keepends=True)


def pid_on(port):
    """The process that was started with `simulate --port PORT`."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"simulate" in words and str(port).encode() in words:
                return int(folder.name)
    raise AssertionError("the command does not run")


async def test_a_command_that_is_killed_is_reported_with_its_last_words(tmp_path):
    port = free_port()
    lane = f'name = "mine"\ncommand = {json.dumps(simulate(port, "--tok-s", "100"))}\nurl = "http://127.0.0.1:{port}/v1"'
    task = asyncio.ensure_future(replay(f"repeat = 2\n[[lane]]\n{lane}\n", tmp_path))
    await until_turns(task, tmp_path, 3)
    os.kill(pid_on(port), signal.SIGKILL)
    report = await task
    assert sum(report["lanes"][0]["errors"].values()) == 1  # what could not be sent is unfinished, not failed
    (reason,) = events(tmp_path, "run_finished")[0]["reasons"]
    assert "has ended (2 of its sessions are unfinished" in reason
    told = [
        warning["message"] for warning in report["warnings"] if "killed by signal 9" in warning["message"]
    ]
    assert len(told) == 1 and "simulated vllm at" in told[0]


async def test_an_engine_that_restarts_in_the_middle_is_flagged_and_the_run_goes_on(start, tmp_path):
    """It ends late, so that its counters, begun anew, can never come to where they were."""
    first = await start(tok_s=150, trace=[str(shipped()[TRACE])])
    async with relay() as port:
        port.up(urlsplit(first.base_url).port)
        plan = f'repeat = 3\ntelemetry_interval = 0.2\n[[lane]]\nname = "a"\nurl = "{port.url}"\n'
        task = asyncio.ensure_future(replay(plan, tmp_path))
        await until_turns(task, tmp_path, 16)
        while not any('"telemetry"' in line for line in after(journal(tmp_path), "turn_finished", 15)):
            await asyncio.sleep(0.05)  # its counters were read
        port.down()
        await first.stop()
        port.up(urlsplit((await start(tok_s=150, trace=[str(shipped()[TRACE])])).base_url).port)
        report = await task
    figures = report["lanes"][0]["server"]
    assert figures["resets"] == 1 and figures["complete"] is False
    assert figures["tokens"]["generated"] > 0
    assert report["lanes"][0]["turns"] == 24 and report["lanes"][0]["usable_turn_rate"]["value"] > 0.7


def after(lines, kind, count):
    """The lines behind the one that is number `count` of its kind."""
    places = [at for at, line in enumerate(lines) if f'"{kind}"' in line]
    return lines[places[count - 1] + 1 :]


async def test_asked_and_effective_settings_are_lane_facts(start, tmp_path):
    """A real log of vLLM 0.21 beside a server: what was asked, what came of it, and the server's own sentences."""
    server = await start(kind="vllm")
    log = CAPTURES / "vllm-0.21.0-h200/logs/vllm-spec.log"
    plan = f'[[lane]]\nname = "a"\nurl = "{server.base_url}"\nfacts = {{ log = "{log}" }}\n'
    await replay(plan, tmp_path)
    facts = events(tmp_path, "lane_ready")[0]["facts"]
    assert facts["log"]["asked"]["speculative_config"]["method"] == "ngram"
    assert facts["log"]["effective"]["attention_backend"] == "FLASH_ATTN"
    assert any("min_p" in note for note in facts["log"]["notes"])


@pytest.mark.real  # speeds by the clock: not for a machine that does other work beside
async def test_two_speed_bands_come_out_by_themselves_and_only_where_they_are(tmp_path):
    """A lane whose acceptance changes every two seconds beside one whose acceptance stays: as in the article."""
    options = "tok_s = 150, draft_tokens = 4, band_seconds = 2.0"
    plan = f"""
    repeat = 6
    [[lane]]
    name = "banded"
    launch = "simulated"
    options = {{ kind = "vllm", acceptance = [0.78, 0.99], {options} }}
    [[lane]]
    name = "steady"
    launch = "simulated"
    options = {{ kind = "vllm", acceptance = [0.78], {options} }}
    """
    report = await replay(plan, tmp_path)
    banded, steady = report["lanes"]
    assert len(banded["bands"]) == 2 and steady["bands"] == []
    slow, fast = banded["bands"]
    assert slow["median"] < 0.92 * fast["median"] and slow["acceptance"] < 0.85 < 0.9 < fast["acceptance"]
    assert banded["band_fit"]["explained_by_acceptance"] > 0.8
    assert banded["acceptance"]["length"] > steady["acceptance"]["length"]
