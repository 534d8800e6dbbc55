"""Archived runs on real engines, judged again from their journals: the truth of their README or `unknown`."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from replayer.journal.view import load
from replayer.metrics.documents import PrefixCache
from replayer.metrics.figures import lane_figures
from replayer.repro.rejudge import rejudged

RUNS = Path(__file__).parents[2] / "captures" / "runs-h200"
PRESSED = ("eviction", "unknown", None)
"""Where no turn of a lane was counted nothing is claimed."""


def judged(name: str, scratch: Path, archive_name: str = "") -> dict[str, PrefixCache]:
    scratch.mkdir(exist_ok=True)
    with tarfile.open(RUNS / f"{archive_name or name}.tar.xz") as archive:
        archive.extractall(scratch, filter="data")
    again = rejudged(scratch / "runs" / name, scratch / "again" / name)
    return {lane.name: lane_figures(lane).prefix_cache for lane in load(again.folder).lanes}


def test_a_long_healthy_session_is_healthy_on_both_engines(tmp_path: Path) -> None:
    """SGLang, which tokenizes nothing, was once said to have evicted in 45 of 46 turns."""
    for found in judged("r5django", tmp_path).values():
        assert found.cause is None and not found.causes
        assert found.ideal is not None and found.reported is not None and found.range is not None
        assert abs(found.ideal - found.reported) < 0.005
        assert found.range[0] <= found.reported <= found.range[1]
        assert found.reported == pytest.approx(0.960, abs=0.002)


def test_long_prompts_on_a_small_pool_are_not_the_clients_fault(tmp_path: Path) -> None:
    lanes = judged("l32k", tmp_path)
    pressure = lanes["vllm"].pressure
    assert lanes["vllm"].cause == "eviction" and pressure is not None
    assert pressure["sentence"].endswith("about 9 would fit")
    assert all(found.cause in PRESSED for found in lanes.values())


@pytest.mark.slow
def test_preemptions_are_what_is_said_of_a_small_pool(tmp_path: Path) -> None:
    lanes = judged("pre", tmp_path)
    pressure = lanes["vllm"].pressure
    assert lanes["vllm"].reported == 0.0, "the counter stands in for a usage that is silent without a hit"
    assert lanes["vllm"].cause == "eviction" and pressure is not None
    assert pressure["sentence"].startswith("pool too small for 12 sessions: 44 preemptions, KV at 100%")
    assert all(found.cause in PRESSED for found in lanes.values())


@pytest.mark.slow
def test_two_hundred_and_fifty_six_sessions_are_analysed(tmp_path: Path) -> None:
    lanes = judged("l256", tmp_path)
    found = lanes["vllm"]
    assert found.cause == "eviction" and found.pressure is not None
    assert found.reported == pytest.approx(0.044, abs=0.001)
    assert found.pressure["sentence"].startswith(
        "pool too small for 256 sessions: 61 preemptions, KV at 100%"
    )
    assert all(found.cause in PRESSED for found in lanes.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kill9", "r1"])
def test_a_restart_and_speculation_lose_nothing(name: str, tmp_path: Path) -> None:
    for found in judged(name, tmp_path).values():
        assert found.cause in (None, "unknown")
        assert found.ideal is not None and found.reported is not None
        assert abs(found.ideal - found.reported) < 0.005


def test_a_cache_that_was_switched_off_is_off_though_a_small_model_answers_as_fast(tmp_path: Path) -> None:
    """Of SGLang it was once said that its counter is broken: the first token came as fast as from a warm cache."""
    for found in judged("off", tmp_path, "cache-off").values():
        assert found.cause == "cache_off" and set(found.causes) == {"cache_off"}
        assert found.reported == 0.0 and "the server says that prefix caching is off" in found.evidence


def test_two_settings_on_one_server_are_held_against_its_counters(tmp_path: Path) -> None:
    """Streams that were stopped have no usage: how many turns a share is of stands beside it."""
    lanes = judged("two-lanes", tmp_path)
    assert all(found.cause is None for found in lanes.values())
    assert lanes["vb"].reported == pytest.approx(0.820, abs=0.0005) and lanes["vb"].counted is None
    assert lanes["sb"].reported == pytest.approx(0.8235, abs=0.0005)
    assert lanes["va"].counted is not None and lanes["va"].counted in (lanes["va"].verdict or "")


@pytest.mark.slow
def test_sixty_four_sessions_are_too_many_for_both_pools(tmp_path: Path) -> None:
    for name, fit in {"vllm": 46, "sglang": 39}.items():
        found = judged("64", tmp_path / name, "l64")[name]
        assert found.cause == "eviction" and found.pressure is not None
        assert found.pressure["sentence"].endswith(f"about {fit} would fit")
