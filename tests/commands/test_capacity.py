"""`replayer capacity` against simulated engines whose capacity is known, and where no number may be claimed."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shutil
import signal
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from replayer.cli import main
from replayer.journal.view import load
from replayer.metrics.capacity.document import eviction_from, within_limits
from replayer.metrics.capacity.levels import level
from replayer.metrics.capacity.limits import parse_limits
from replayer.metrics.capacity.search import Agents
from replayer.simulated import SimulatedSpec, launch

TRACES = ("--trace", "fix-failing-test", "--trace", "first-look")
QUICK = ("--duration", "12", "--load-warm-up", "0.5", "--max-lag", "60000", "--cap", "16")


def capacity(out: Path, *words: str) -> int:
    return main(["capacity", *TRACES, *QUICK, "--out", str(out), *words])


def claimed(out: Path, capsys: pytest.CaptureFixture[str], speed: str, *words: str) -> dict[str, Any]:
    """The document of a search that claims a number. A busy machine cannot load a quick engine and says so: a slower one is
    searched then. `{9}` in `speed` and the words stands for tokens a second, divided alike."""
    for slower in (1, 4, 16):
        shutil.rmtree(out, ignore_errors=True)
        scaled = [_slowed(word, slower) for word in (speed, *words)]
        code = capacity(out, "--engine", *scaled, "--duration", str(12 * slower), "--json")
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        if "this machine was too slow" not in " ".join(document["lanes"][0]["reasons"]):
            break
    assert code == 0, document["lanes"][0]["reasons"]
    return document


def _slowed(word: str, by: int) -> str:
    return re.sub(r"{(\d+)}", lambda rate: f"{int(rate[1]) / by:g}", word)


@pytest.mark.slow
def test_the_capacity_of_a_simulated_engine_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = "a=simulated,total_tok_s={975},ttft_ms=20,chunk_tokens=4"  # six at 150 tokens/s, and a half
    words = ("--slo", "decode_tok_s.p5={150}", "--tiers", "{400}", "--price-gpu-hour", "3")
    files = ("--html", str(tmp_path / "c.html"), "--markdown", str(tmp_path / "c.md"), "--gpus", "1")
    document = claimed(tmp_path / "out", capsys, engine, *words, *files)
    [lane] = document["lanes"]
    assert lane["valid"] and not lane["reasons"] and abs(lane["agents"]["value"] - 6) <= 1
    assert [found["sessions"] for found in lane["levels"]] == sorted(
        found["sessions"] for found in lane["levels"]
    )
    assert 1 <= next(iter(lane["tiers"].values()))["value"] <= 4
    assert (
        lane["costs"]["agents_per_gpu"] == lane["agents"]["value"] and lane["costs"]["per_usable_session"] > 0
    )
    folder = tmp_path / "out" / lane["levels"][0]["folder"]
    assert load(folder).lanes[0].load is not None, "each level is a run"
    assert json.loads((tmp_path / "out" / "capacity.json").read_text()) == document
    assert (
        "usable agents" in (tmp_path / "c.md").read_text()
        and 'class="plot"' in (tmp_path / "c.html").read_text()
    )


@pytest.mark.slow
def test_turns_that_stop_being_usable_limit_it_although_latency_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = "a=simulated,tok_s={400},ttft_ms=20,chunk_tokens=4,fault=truncated@0:above=4:per=0.15"
    [lane] = claimed(tmp_path / "out", capsys, engine, "--slo", "ttft_ms.p95=2000")["lanes"]
    assert abs(lane["agents"]["value"] - 4) <= 1
    assert lane["within_limits"]["value"] > lane["agents"]["value"], "latency holds beyond it"
    assert "turns stop being usable first" in lane["words"]


@pytest.mark.slow
def test_a_server_that_refuses_what_is_too_much_has_a_capacity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tenth of its requests fail for each beyond four: those are turns that are not usable, and no broken server."""
    engine = "a=simulated,tok_s={400},ttft_ms=20,chunk_tokens=4,fault=500@0:above=4:per=0.1"
    [lane] = claimed(tmp_path / "out", capsys, engine, "--slo", "ttft_ms.p95=2000")["lanes"]
    assert abs(lane["agents"]["value"] - 4) <= 1


@pytest.mark.slow
async def test_a_server_that_dies_and_a_search_that_is_cut_short_claim_nothing(tmp_path: Path) -> None:
    for name in ("dies", "cut"):
        server = await launch(SimulatedSpec.from_options({"tok_s": 400, "chunk_tokens": 4}))
        out = tmp_path / name
        words = ("--engine", f"a={server.base_url}", "--slo", "ttft_ms.p95=2000", "--out", str(out), "--json")
        going = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "replayer", "capacity", *TRACES, *QUICK, "--from", "1", *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        journal = out / "levels" / "a" / "0004" / "journal.jsonl"
        while not (journal.exists() and b'"turn_started"' in journal.read_bytes()):
            await asyncio.sleep(0.05)
        if name == "dies":
            await server.stop()
        else:
            going.send_signal(signal.SIGINT)
        printed, _ = await asyncio.wait_for(going.communicate(), 300)
        await server.stop()
        assert going.returncode == (1 if name == "dies" else 130)
        [lane] = json.loads(printed)["lanes"]
        assert lane["agents"] is None and not lane["valid"]
        assert ("server went away" if name == "dies" else "cut short") in " ".join(lane["reasons"])
        assert "no number is claimed" in lane["words"] and len(lane["levels"]) == 3


def test_a_client_that_is_too_slow_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "run",
        *TRACES,
        "--engine",
        "a=simulated,tok_s=800,chunk_tokens=4",
        "--sessions",
        "4",
        "--duration",
        "3",
    ]
    assert main([*words, "--max-lag", "60000", "--out", str(tmp_path / "run"), "--json"]) == 0
    journal = tmp_path / "run" / "journal.jsonl"
    lines: list[str] = []
    for number, line in enumerate(journal.read_text().splitlines()):
        event: dict[str, Any] = json.loads(line)
        if event["type"] == "turn_finished":
            event["lag_ns"] = 40_000_000 if number % 3 else 0
            event.pop("crc", None)
        lines.append(json.dumps(event))
    journal.write_text("\n".join(lines) + "\n")
    view, limits = load(tmp_path / "run"), parse_limits("ttft_ms.p95=2000")
    found = level(view, 4, limits, 0.95, None, "run", emptied=True)
    assert not found.valid and "this machine was too slow" in found.reasons[0]


def test_a_real_level_far_past_its_capacity_fails_surely_with_few_turns(tmp_path: Path) -> None:
    _unpack("capacity-overload", tmp_path)
    view, limits = load(tmp_path / "capacity-overload"), parse_limits("ttft_ms.p95=3000,decode_tok_s.p5=30")
    found = level(view, 16, limits, 0.95, None, "run", emptied=True)
    assert found.outcome == "fails" and found.turns == 39 and found.valid, found.reasons
    lenient = level(view, 16, parse_limits("ttft_ms.p95=60000"), 0.95, None, "run", emptied=True)
    assert not lenient.valid and "at least 1 s and 40 turns" in lenient.reasons[0], "too few to hold"


def test_a_real_search_is_judged_again_as_it_was(tmp_path: Path) -> None:
    """vLLM and SGLang, a pool of 163,000 tokens each: by the counters of both, it holds 13 sessions of 12,000 tokens."""
    _unpack("capacity-search", tmp_path)
    limits = parse_limits("ttft_ms.p95=3000,decode_tok_s.p5=30")
    for lane, usable in (("vllm", 14), ("sglang", 13)):
        folders = sorted((tmp_path / "capacity-search" / lane).iterdir())
        levels = [
            level(load(one), int(one.name), limits, 0.95, None, one.name, emptied=True) for one in folders
        ]
        assert all(one.valid for one in levels)
        assert within_limits(levels, 0.95, 64) == Agents(usable, usable, usable, capped=False)
        assert eviction_from(levels) == 14
        assert all(one.reuse is not None and one.reuse <= (one.expected or 0) for one in levels)


def _unpack(name: str, into: Path) -> None:
    with tarfile.open(Path(__file__).parents[1] / "captures" / "runs-h200" / f"{name}.tar.xz") as packed:
        packed.extractall(into, filter="data")


def test_what_cannot_be_searched_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = ("--engine", "a=simulated")
    for words, message in (
        (engine, "no limit"),
        ((*engine, "--slo", "ttft=3"), "no figure 'ttft'"),
        (("--slo", "ttft_ms=3"), "no engine to load"),
        ((*engine, "--slo", "ttft_ms=3", "--arrivals", "poisson:1"), "arrivals must be closed"),
        ((*engine, "--preset", "agentpref"), "did you mean 'agentperf'"),
        ((*engine, "--slo", "ttft_ms=3", "--price-tokens", "3,1"), "INPUT,CACHED,OUTPUT"),
    ):
        assert capacity(tmp_path / "out", *words) == 2
        assert message in capsys.readouterr().err


class _InterruptsOnce(io.StringIO):
    """A terminal whose user presses Ctrl-C as soon as the first level is announced."""

    def write(self, words: str) -> int:
        if "4 live sessions" in words:
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(words)


@pytest.mark.slow
def test_an_interrupt_between_two_levels_ends_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", _InterruptsOnce())
    words = ("--engine", "a=simulated,tok_s=4000,ttft_ms=5", "--slo", "ttft_ms.p95=2000", "--json")
    assert capacity(tmp_path / "out", *words) == 130
    [lane] = json.loads(capsys.readouterr().out)["lanes"]
    assert lane["agents"] is None and "cut short" in lane["words"]
    assert [found.name for found in (tmp_path / "out" / "levels" / "a").iterdir()] == ["0004"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "slo", "more", "reason"),
    [
        ("fault=500@0.5", "ttft_ms=2000", (), "ended in an engine error"),
        ("fault=no_usage@1", "decode_tok_s=10", (), "its limit cannot be checked"),
        ("tok_s=400", "ttft_ms=2000", ("--duration", "1.2", "--load-warm-up", "1"), "steady window is too short"),
        ("reset_endpoint=false", "ttft_ms=2000", (), "may be warm"),
        ("tok_s=400", "ttft_ms=2000", ("--duration", "9", "--cap", "4", "--transform", "slow_client:wait"), "before it sent the next request"),
    ],
)  # fmt: skip
def test_a_level_that_says_nothing_claims_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str, slo: str,
    more: tuple[str, ...], reason: str,
) -> None:  # fmt: skip
    (tmp_path / "slow_client.py").write_text(
        "import time\n\ndef wait(messages):\n    time.sleep(0.08)\n    return messages\n"
    )
    monkeypatch.chdir(tmp_path)
    words = ("--engine", f"a=simulated,ttft_ms=20,{engine}", "--slo", slo, "--duration", "4", *more, "--json")
    assert capacity(tmp_path / "out", *words) == 1
    [lane] = json.loads(capsys.readouterr().out)["lanes"]
    assert lane["agents"] is None and not lane["valid"] and len(lane["levels"]) == 1
    assert reason in " ".join(lane["reasons"]) and "no number is claimed" in lane["words"]
