"""Real sessions, where REPLAYER_RECORDINGS names a folder of them (opt-in): counts that were also taken directly.

REPLAYER_RECORDINGS=/path/to/recordings pytest -m real tests/traces/test_recordings.py
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from replayer.errors import TraceError
from replayer.requests.history import RecordedHistory
from replayer.traces.convert import convert
from replayer.traces.reader import Trace
from replayer.traces.summary import Summary, check
from replayer.traces.tally import text_size
from tests.traces.direct_counts import COUNTERS
from tests.traces.rebuilt import Figure, figure

pytestmark = pytest.mark.real

ROOT = Path(os.environ.get("REPLAYER_RECORDINGS", "/nonexistent"))

# file -> turns, calls, failed results, largest prompt (tokens where the source counts them, else an estimate),
# how well the prompts are rebuilt
TABLE: dict[str, tuple[int, int, int, int, Figure]] = {
    "atif/nat_exmp01_atif.json": (1, 0, 0, 43, None),
    "atif/nat_exmp02_atif.json": (2, 1, 0, 10, None),
    "atif/nat_exmp03_atif.json": (1, 0, 0, 26, None),
    "atif/nat_exmp04_atif.json": (2, 1, 0, 38, None),
    "atif/nat_exmp05_atif.json": (2, 1, 0, 35, None),
    "atif/nat_exmp06_atif.json": (3, 0, 0, 116, None),
    "claude-code/errors-11of52.jsonl": (47, 52, 11, 84147, ("within 10 %", 46, 46)),
    "claude-code/errseq7-parallel.jsonl": (32, 67, 10, 100313, ("within 10 %", 31, 31)),
    "claude-code/lint-loop-6x.jsonl": (66, 66, 8, 61908, ("within 10 %", 65, 65)),
    "claude-code/long-173k-ctx-par10.jsonl": (50, 85, 3, 173215, ("within 10 %", 47, 49)),
    "claude-code/same-call-twice.jsonl": (38, 51, 6, 112828, ("within 10 %", 36, 37)),
    "claude-code/small-haikuless.jsonl": (4, 3, 0, 45651, ("within 10 %", 3, 3)),
    "claude-code/tiny-1call.jsonl": (1, 1, 0, 38395, None),
    "claude-code/tiny-error.jsonl": (4, 3, 1, 41442, ("within 10 %", 3, 3)),
    "codex/gpt54-unpaired-outputs.jsonl": (11, 23, 3, 31661, ("within 10 %", 9, 9)),
    "codex/gpt55-7fails-short.jsonl": (23, 59, 7, 85631, ("within 10 %", 22, 22)),
    "codex/gpt55-small-83calls.jsonl": (40, 83, 1, 55283, ("within 10 %", 37, 39)),
    "codex/spark-17fails-compact2.jsonl": (180, 177, 17, 96092, ("within 10 %", 174, 179)),
    "copilot-cli/medium.jsonl": (54, 68, 1, 33172, None),
    "copilot-cli/small-a.jsonl": (1, 0, 0, 9246, None),
    "gemini-cli/flash-1call-a.json": (2, 1, 0, 12117, ("within 10 %", 1, 1)),
    "gemini-cli/flash-1call-b.json": (2, 1, 0, 12350, ("within 10 %", 1, 1)),
    "gemini-cli/flash-2calls.json": (4, 2, 0, 12874, ("within 10 %", 3, 3)),
    "gemini-cli/flash-4calls.json": (6, 4, 0, 12990, ("within 10 %", 4, 4)),
    "gemini-cli/flash-9calls.json": (11, 9, 0, 14200, ("within 10 %", 9, 9)),
    "gemini-cli/warning-only.json": (0, 0, 0, 0, None),
    "kv-cache-tester/trace_0274.json": (105, 0, 0, 110524, ("equal", 105, 105)),
    "kv-cache-tester/trace_0282.json": (103, 0, 0, 167120, ("equal", 103, 103)),
    "mini-swe-agent/github_issue.traj.json": (10, 0, 0, 1747, ("equal", 10, 10)),
    "mini-swe-agent/local.traj.json": (2, 0, 0, 685, ("equal", 2, 2)),
    "mooncake/conversation_trace.head2000.jsonl": (2000, 0, 0, 123192, ("equal", 2000, 2000)),
    "openhands-v0/basic.json": (2, 2, 0, 4646, ("within 10 %", 1, 1)),
    "openhands-v0/multi_swe_output.jsonl": (105, 105, 19, 33459, ("within 10 %", 102, 102)),
    "otel/code_review_workflow.json": (15, 0, 0, 1999, ("equal", 15, 15)),
    "otel/customer_support_escalation.json": (9, 0, 0, 283, ("equal", 9, 9)),
    "otel/fan_in_dependencies.json": (4, 0, 0, 184, ("equal", 4, 4)),
    "otel/multi_agent_research.json": (12, 0, 0, 433, ("equal", 12, 12)),
    "otel/parallel_requests.json": (5, 0, 0, 199, ("equal", 5, 5)),
    "otel/prefix_sharing_example.json": (7, 0, 0, 380, ("equal", 7, 7)),
    "otel/simple_chain.json": (3, 0, 0, 121, ("equal", 3, 3)),
    "otel/simple_chain_alt.json": (3, 0, 0, 121, ("equal", 3, 3)),
    "otel/software_architecture_review.json": (15, 0, 0, 853, ("equal", 15, 15)),
    "swe-agent/ctf__eps.traj": (14, 0, 0, 4480, None),
    "swe-agent/ctf__i_got_id_demo.traj": (21, 0, 0, 10696, None),
    "swe-agent/ctf__katy.traj": (18, 0, 0, 6728, None),
    "swe-agent/marshmallow-1867-function-calling.traj": (11, 11, 0, 6935, None),
    "swe-agent/test-repo-gpt4.traj": (5, 0, 0, 10481, None),
    "zed/derived-threads.db": (348, 332, 32, 155023, ("within 10 %", 41, 46)),
    "zed/overwrite-file.v0.2.0.json": (6, 5, 0, 10789, ("within 10 %", 5, 5)),
}
"""Summed over the sessions of a file, the largest prompt taken over them."""


def _files() -> list[str]:
    kept = [
        p
        for p in sorted(ROOT.rglob("*"))
        if p.is_file() and p.name != "SOURCES.md" and "LICENSES" not in p.parts
    ]
    return [str(path.relative_to(ROOT)) for path in kept]


@pytest.mark.skipif(not ROOT.is_dir(), reason="REPLAYER_RECORDINGS names no folder")
@pytest.mark.parametrize("name", _files() if ROOT.is_dir() else [])
def test_a_recording_imports_with_the_counts_of_the_table(name: str, tmp_path: Path) -> None:
    outcomes = list(convert(ROOT / name, tmp_path))
    assert not [outcome for outcome in outcomes if isinstance(outcome, TraceError)]
    found = [outcome for outcome in outcomes if isinstance(outcome, Summary)]
    for summary in found:
        check(Path(summary.trace))
    counts = (
        sum(summary.turns for summary in found),
        sum(summary.tool_calls for summary in found),
        sum(summary.failed_results for summary in found),
        max(summary.max_prompt_tokens_estimate for summary in found),
    )
    traces = [Trace.open(summary.trace) for summary in found]
    if name in TABLE:
        assert (*counts, figure(ROOT / name, traces)) == TABLE[name]
    for trace in traces:
        trace.close()


@pytest.mark.skipif(not ROOT.is_dir(), reason="REPLAYER_RECORDINGS names no folder")
@pytest.mark.parametrize("name", [name for name in _files() if name in TABLE] if ROOT.is_dir() else [])
def test_the_table_is_a_direct_count(name: str, tmp_path: Path) -> None:
    """Turns, calls and failed results of the table; of largest prompts those that the source counts itself."""
    *counted, largest = COUNTERS[name.partition("/")[0]](ROOT / name)
    assert tuple(counted) == TABLE[name][:3]
    found = 0
    for outcome in convert(ROOT / name, tmp_path):
        assert isinstance(outcome, Summary)
        with Trace.open(outcome.trace) as trace:
            for turn in trace.turns:
                found = max(found, (turn.usage.prompt_tokens or 0) if turn.usage else 0)
    assert largest is None or found == largest


@pytest.mark.skipif(not (ROOT / "swe-agent").is_dir(), reason="no SWE-agent recordings")
def test_the_prompts_of_swe_agent_are_the_queries_or_a_warning_says_why_not(tmp_path: Path) -> None:
    for path in sorted((ROOT / "swe-agent").glob("*.traj")):
        steps = orjson.loads(path.read_bytes())["trajectory"]
        [summary] = convert(path, tmp_path)
        assert isinstance(summary, Summary)
        exact = [step.get("query") or step.get("messages") for step in steps]
        if not all(exact):
            assert any("quer" in warning or "prompt" in warning for warning in summary.warnings), path.name
            continue
        with Trace.open(summary.trace) as trace:
            history = RecordedHistory(trace)
            for turn, sent in zip(history.turns, exact, strict=True):
                said = [(m["role"], m["content"]) for m in history.messages(turn)]
                assert said == [(m["role"], m["content"]) for m in sent], path.name


def _lines(name: str) -> list[Any]:
    return [orjson.loads(line) for line in (ROOT / name).read_bytes().splitlines() if line.strip()]


@pytest.mark.skipif(not (ROOT / "codex").is_dir(), reason="no Codex recordings")
def test_codex_usage_is_that_of_every_distinct_count(tmp_path: Path) -> None:
    for path in sorted((ROOT / "codex").glob("*.jsonl")):
        prompts, before = [], None
        for line in _lines(f"codex/{path.name}"):
            info = line["payload"].get("info") if line["payload"].get("type") == "token_count" else None
            if info and info["total_token_usage"] != before:
                before = info["total_token_usage"]
                prompts.append(info["last_token_usage"]["input_tokens"])
        [summary] = convert(path, tmp_path)
        assert isinstance(summary, Summary)
        with Trace.open(summary.trace) as trace:
            found = [turn.usage.prompt_tokens for turn in trace.turns if turn.usage]
        assert len(prompts) - len(found) <= 3 and set(found) <= set(prompts), path.name
        assert max(found) == max(prompts)


@pytest.mark.skipif(not (ROOT / "openhands-v0").is_dir(), reason="no OpenHands recordings")
def test_openhands_prompts_grow_as_the_usage_says(tmp_path: Path) -> None:
    """Characters per token of what each turn adds stay near those of the whole: nothing is missing or sent twice."""
    for outcome in convert(ROOT / "openhands-v0/multi_swe_output.jsonl", tmp_path):
        assert isinstance(outcome, Summary)
        with Trace.open(outcome.trace) as trace:
            history = RecordedHistory(trace)
            ratios = []
            for turn in history.turns:
                usage = trace.turns[turn].usage
                if usage is not None and usage.prompt_tokens:
                    text = sum(text_size(trace.item(i)) for i in trace.context(turn))
                    text += len(orjson.dumps(history.tools(turn)))
                    ratios.append(text / usage.prompt_tokens)
        middle = sorted(ratios)[len(ratios) // 2]
        assert all(abs(ratio / middle - 1) <= 0.1 for ratio in ratios)


@pytest.mark.skipif(not (ROOT / "kv-cache-tester").is_dir(), reason="no kv-cache-tester recordings")
def test_kv_lengths_are_exact(tmp_path: Path) -> None:
    for path in sorted((ROOT / "kv-cache-tester").glob("*.json")):
        document = orjson.loads(path.read_bytes())
        main = [r["in"] for r in document["requests"] if r["type"] != "subagent"]
        [summary] = convert(path, tmp_path)
        assert isinstance(summary, Summary)
        with Trace.open(summary.trace) as trace:
            history = RecordedHistory(trace)
            words = [len(m["content"].split()) for turn in history.turns[:5] for m in history.messages(turn)]
            assert [trace.turns[t].tokens.input_tokens for t in history.turns] == main  # type: ignore[union-attr]
        assert words == main[:5]
