"""`run --metrics-port`: a live run scraped as Prometheus would, read by prometheus_client's own parser."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from replayer.cli import main
from replayer.journal.log import read
from replayer.run.metrics_page import MetricsPage
from tests.generate import long_session
from tests.journals import lines_of

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"
Page = dict[str, dict[frozenset[tuple[str, str]], float]]


def parsed(text: str) -> Page:
    page: Page = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation.endswith(".")
        for sample in family.samples:
            page.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return page


def by_lane(page: Page, name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for labels, value in page[name].items():
        found[dict(labels)["lane"]] += int(value)
    return found


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The run's folder, and the pages that were read while it went on."""
    folder = tmp_path_factory.mktemp("metrics")
    trace = folder / "s.trace.jsonl"
    long_session(trace, turns=6, tokens=600, seed=4)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    pages: list[str] = []
    over = threading.Event()

    def scrape() -> None:
        while not over.is_set():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    assert answer.headers["Content-Type"].startswith("text/plain")
                    pages.append(answer.read().decode())
            except OSError:
                pass
            time.sleep(0.02)

    scraper = threading.Thread(target=scrape)
    scraper.start()
    lanes = ["a=simulated,seed=1,ttft_ms=40", "b=simulated,seed=2,ttft_ms=40,fault=unknown_tool@0.5"]
    words = ["run", "--trace", str(trace), "--metrics-port", str(port), "--out", str(folder / "run")]
    try:
        assert main([*words, *(word for lane in lanes for word in ("--engine", lane))]) == 0
    finally:
        over.set()
        scraper.join()
    return folder / "run", pages


def test_a_live_run_is_read_as_it_goes_on(scraped: tuple[Path, list[str]]) -> None:
    _, texts = scraped
    pages = [parsed(text) for text in texts]
    seen = [page for page in pages if "replayer_usable_turns_total" in page]
    counts = [by_lane(page, "replayer_judged_turns_total").total() for page in seen]
    assert counts == sorted(counts) and 0 < counts[-1] <= 12
    assert any(by_lane(page, "replayer_sessions_live").total() for page in seen)
    assert set(by_lane(seen[-1], "replayer_loop_lag_seconds")) == {"a", "b"}


def test_the_page_says_what_the_journal_says(scraped: tuple[Path, list[str]]) -> None:
    page = MetricsPage()
    for event in read(scraped[0]):
        page.event(event)
    found = parsed(generate_latest(page.registry).decode())
    lines = lines_of(scraped[0] / "journal.jsonl")
    replies = [line for line in lines if line["type"] == "turn_finished"]
    verdicts = [line for line in lines if line["type"] == "verdict"]
    lane = {line["session"]: line["lane"] for line in lines if line["type"] == "session_started"}
    usable = Counter(lane[line["session"]] for line in verdicts if line["usable"])
    calls: Counter[str] = Counter()
    for line in replies:
        calls[lane[line["session"]]] += len(line["tool_calls"])
    assert by_lane(found, "replayer_usable_turns_total") == usable
    assert by_lane(found, "replayer_tool_calls_total") == calls
    bad = sum(fault["klass"] == "unknown_tool" for line in verdicts for fault in line["faults"])
    key = frozenset({"lane": "b", "fault": "unknown_tool", "blame": "model"}.items())
    assert found["replayer_tool_calls_total"][key] == bad > 0
    assert by_lane(found, "gen_ai_client_operation_duration_seconds_count") == {"a": 6, "b": 6}
    assert by_lane(found, "gen_ai_invoke_agent_inference_calls_sum") == {"a": 6, "b": 6}
    assert not +by_lane(found, "replayer_sessions_live")
    prompt = sum(line["usage"]["prompt_tokens"] for line in replies)
    sums = found["gen_ai_client_token_usage_sum"]
    assert sum(v for k, v in sums.items() if ("gen_ai_token_type", "input") in k) == prompt


@pytest.mark.slow  # promtool comes with the system packages
@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_promtool_has_nothing_to_say(scraped: tuple[Path, list[str]]) -> None:
    for text in scraped[1][-1:]:
        said = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        assert (said.returncode, said.stdout + said.stderr) == (0, "")


def test_the_dashboard_asks_for_what_the_page_has(scraped: tuple[Path, list[str]]) -> None:
    page = MetricsPage()
    for event in read(scraped[0]):
        page.event(event)
    names = set(parsed(generate_latest(page.registry).decode()))
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"\b(?:replayer|gen_ai)_\w+(?=[\[{(]|$| )", target["expr"])
    }
    assert len(panels) >= 6 and {name for name in asked if not name.startswith("gen_ai_token")} <= names


def test_a_port_in_use_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ["--engine", "a=simulated", "--metrics-port", port, "--out", str(tmp_path / "run")]
        assert main(["run", "--trace", "fix-failing-test", *words]) == 2
    assert f"--metrics-port {port} cannot be served" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
