"""The doctor names a server's kind, what it cannot report, and the flag that would change that."""

import json

import pytest

from replayer.cli import main
from replayer.doctor.diagnosis import examine, probe_wires
from replayer.engines.detect import connect
from replayer.simulated import SimulatedSpec, launch
from replayer.wire.client import WireClient

POOR = {"report_cached": False, "report_metrics": False, "tool_parser": False, "reset_endpoint": False}
FLAGS = {
    "vllm": [
        "--enable-prompt-tokens-details",
        "--enable-auto-tool-choice --tool-call-parser",
        "VLLM_SERVER_DEV_MODE=1",
    ],
    "sglang": ["--enable-cache-report", "--enable-metrics", "--tool-call-parser"],
    "trtllm": ["enable_block_reuse", "enable_iter_perf_stats", "--tool_parser"],
    "llamacpp": ["--metrics", "--chat-template-file"],
}


async def examined(url, **more):
    engine = await connect(url)
    client = WireClient(engine.base_url, classify=engine.fault)
    found = await examine(engine, client, **more)
    await client.aclose()
    await engine.aclose()
    return found


@pytest.mark.parametrize("kind", FLAGS)
async def test_a_poor_server_is_told_its_flags(serve, kind):
    found = await examined(await serve(kind=kind, prefill_tok_s=2000, **POOR))
    advice = "\n".join(found.advice)
    assert found.facts.kind == kind
    assert [flag for flag in FLAGS[kind] if flag not in advice] == []
    assert found.features["metrics"] == "no" and found.features["tools"] == "no"
    assert found.features["cached_tokens"] == ("yes" if kind == "llamacpp" else "no")
    assert found.prefix_probe.caching == "yes"


@pytest.mark.parametrize("kind", FLAGS)
async def test_a_rich_server_needs_nothing(serve, kind):
    found = await examined(await serve(kind=kind, block_size=16))
    assert found.advice == []
    assert {
        name: found.features[name] for name in ("metrics", "tools", "cached_tokens", "usage", "done")
    } == dict.fromkeys(("metrics", "tools", "cached_tokens", "usage", "done"), "yes")
    assert found.prefix_probe.counter == "works"
    assert found.prefix_probe.block_size == 16


async def test_without_the_probe_nothing_is_generated(serve):
    url = await serve(kind="vllm")
    found = await examined(url, probe=False)
    engine = await connect(url)
    sample = await engine.telemetry()
    await engine.aclose()
    assert sample.generated_tokens == 0 and found.prefix_probe is None
    assert found.features["cached_tokens"] == "unknown" and found.features["metrics"] == "yes"


async def test_a_context_that_is_too_short_for_the_trace(serve):
    found = await examined(await serve(kind="sglang", context_length=8192), longest_prompt=20_000)
    assert any("20,000 tokens" in text and "--context-length" in text for text in found.advice)


async def test_the_command(start, capsys):
    import asyncio

    server = await start(kind="vllm", report_cached=False)
    code = await asyncio.to_thread(main, ["doctor", server.base_url, "--json", "--trace", "fix-failing-test"])
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert code == 0 and "connecting to" in shown.err and "its prefix cache" in shown.err
    assert told.keys() >= {"kind", "version", "model", "context_length", "features", "advice", "prefix_probe"}
    assert (told["kind"], told["features"]["cached_tokens"]) == ("vllm", "no")


def test_nobody_there_is_exit_code_3(capsys):
    assert main(["doctor", "http://127.0.0.1:9"]) == 3
    assert "cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["vllm", "llamacpp"])
async def test_doctor_says_what_the_other_apis_report(kind: str) -> None:
    """As captured: llama.cpp reports cached tokens on Messages, vLLM does not; neither keeps responses by default."""
    engine = await launch(SimulatedSpec(kind=kind))
    client = WireClient(engine.base_url)
    try:
        found = await probe_wires(client, engine.base_url, "simulated", None)
    finally:
        await client.aclose()
        await engine.stop()
    assert found.pop("messages_cached_tokens") == ("yes" if kind == "llamacpp" else "no")
    assert found.pop("stored_responses") == "no"
    assert set(found.values()) == {"yes"} and {"messages", "responses", "count_tokens"} <= found.keys()
