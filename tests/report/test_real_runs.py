"""Archived runs on vLLM and SGLang (`tests/captures/runs-h200`): every output says the same, and what the servers said.

8B shapes with random weights and SmolLM2: figures of load are real, texts are noise. Several runs broke off.
"""

import io
import re
import tarfile
from pathlib import Path

import pytest
from rich.console import Console

from replayer.journal.view import load
from replayer.metrics.catalogue import METRICS
from replayer.metrics.figures import run_figures
from replayer.metrics.run_documents import RunFigures
from replayer.report.evidence import gather
from replayer.report.html import html_report
from replayer.report.junit import junit_report
from replayer.report.markdown import markdown_report
from replayer.report.table import print_report
from replayer.text import markdown as words
from replayer.tui.source import RunSource

ARCHIVES = Path(__file__).parents[1] / "captures" / "runs-h200"
RUNS = ("kill9", "l32k", "pre", "r1", "r5django", "ray")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name in RUNS:
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        found[name] = folder / "runs" / name
    return found


def figures(folders: dict[str, Path], name: str) -> RunFigures:
    return run_figures(load(folders[name]))


@pytest.mark.parametrize("name", RUNS)
def test_every_output_prints_the_same_sentences(folders: dict[str, Path], name: str) -> None:
    document, evidence = figures(folders, name), gather([folders[name]])
    console = Console(width=6000, record=True, file=io.StringIO())
    print_report(document, console)
    outputs = {
        "terminal": " ".join(console.export_text().split()),
        "html": re.sub(r"<[^>]+>", "", html_report(evidence)).replace("&#x27;", "'"),
        "junit": junit_report(evidence),
    }
    markdown = markdown_report(evidence)
    for sentence in document.conclusions.sentences():
        assert all(sentence in text for text in outputs.values()), sentence
        assert words(sentence) in markdown


@pytest.mark.parametrize("name", RUNS)
def test_sentences_hold_against_the_figures_beside_them(folders: dict[str, Path], name: str) -> None:
    document = figures(folders, name)
    for lane, found in zip(document.lanes, document.conclusions.lanes, strict=True):
        assert f"answered {lane.turns} turns" in found.words or lane.usable_turn_rate.value is None
        assert (found.verdict == "sound") == (
            not lane.missing_sessions and not lane.errors and lane.usable_turn_rate.value == 1
        )
        if lane.prefix_cache.reported is not None:
            assert found.reuse is not None and f"{lane.prefix_cache.reported:.1%}" in found.reuse
    for pair in document.comparisons:
        assert pair.low is None or pair.high is None or pair.low < pair.high
        assert not pair.decided or (
            pair.low is not None and pair.high is not None and pair.low * pair.high > 0
        )
        assert not pair.decided or pair.n_sessions >= 6
        claimed = "is better than" in pair.conclusion or "is worse than" in pair.conclusion
        assert claimed == pair.decided


@pytest.mark.parametrize("name", RUNS)
def test_the_screen_has_the_figures_and_words_of_the_report(folders: dict[str, Path], name: str) -> None:
    document, source = figures(folders, name), RunSource(folders[name])
    frame = source.poll()
    while frame.behind:  # one look reads for so long only
        frame = source.poll()
    for lane in document.lanes:
        shown = frame.figures[lane.lane]
        assert all(shown.figures[key] == lane.figures[key] for key in METRICS)
        assert frame.conclusions[lane.lane] in document.conclusions.lanes
    decided = {pair.conclusion for pair in document.comparisons if pair.decided}
    assert all(set(better.words.split("\n")) <= decided for better in frame.best.values())


def test_a_run_that_broke_off_reports_every_turn_that_was_answered(folders: dict[str, Path]) -> None:
    """By the servers' own counters 277 and 256 turns; a report of before said 24 and none."""
    document = figures(folders, "pre")
    assert [lane.turns for lane in document.lanes] == [277, 256]
    assert {lane.verdict for lane in document.conclusions.lanes} == {"unfinished"}
    vllm, sglang = document.conclusions.lanes
    assert vllm.pressure == (
        "Under pressure: pool too small for 12 sessions: 44 preemptions, KV at 100%, reuse fell from 94% to 0%; about 4 would "
        "fit."
    )
    assert sglang.pressure is not None and "99% full" in sglang.pressure


def test_sessions_that_an_engine_never_saw_are_missing(folders: dict[str, Path]) -> None:
    """vLLM was killed after 5.6 s: 36 requests reached nothing, and no session of the lane ended by itself."""
    document = figures(folders, "kill9")
    lane, found = document.lanes[0], document.conclusions.lanes[0]
    assert (lane.sessions, lane.missing_sessions, lane.unreached_turns) == (0, 12, 36)
    assert lane.turns == lane.usable_turn_rate.n == 21
    assert found.missing is not None and "8 not at all" in found.missing
    assert document.conclusions.lanes[1].verdict == "faults"


def test_a_first_answer_of_91_seconds_is_named(folders: dict[str, Path]) -> None:
    sglang = figures(folders, "r1").conclusions.lanes[1]
    assert "took 91.4 s" in sglang.words and "25.4 tok/s with it and 154 without" in sglang.words


def test_another_way_of_counting_prompts_is_no_worse_cache(folders: dict[str, Path]) -> None:
    found = [pair for pair in figures(folders, "ray").comparisons if pair.metric == "prefix_hit_rate"]
    assert len(found) == 3 and not any(pair.decided for pair in found)
    [apart] = [pair for pair in found if (pair.a, pair.b) == ("vllm", "sglang")]
    assert -0.01 < apart.difference < 0 and "no difference beyond what block sizes" in apart.conclusion
