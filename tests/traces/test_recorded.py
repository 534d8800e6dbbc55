"""The sessions that ship: sound, what they promise to be, and made again by running them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from replayer.cli import main
from replayer.errors import TraceError
from replayer.journal.events import EVENT, SessionFinished
from replayer.signals.base import TurnFacts
from replayer.signals.call_loops import Called, CallLoops
from replayer.signals.repetition.detector import scan
from replayer.tools.toolsets import identify
from replayer.traces.library import shipped
from replayer.traces.reader import Trace
from replayer.traces.schema import (
    AssistantItem,
    CompactionItem,
    ReasoningItem,
    ToolCallItem,
    ToolResultItem,
    Turn,
)
from replayer.wire.types import Reply, Timing
from sessions import build, workspace
from sessions.likeness import likeness

NOTHING = Reply(timing=Timing(sent=0, headers=None, first_token=None, ended=0))
NAMES = sorted(build.names())
NO_PACKAGES = [name for name in NAMES if not build.load(name).environment]
WITH_PACKAGES = [name for name in NAMES if name not in NO_PACKAGES]


@pytest.fixture(params=NAMES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return Trace.open(shipped()[request.param])


def largest_prompt(trace: Trace) -> int:
    return max((turn.usage and turn.usage.prompt_tokens) or 0 for turn in trace.turns)


def runs(trace: Trace, turn: Turn) -> list[Called]:
    results = {run.call: run.result for run in trace.tool_runs}
    found = []
    for number in turn.produced:
        call = trace.item(number)
        if isinstance(call, ToolCallItem):
            result = trace.item(results[number] or 0)
            assert isinstance(result, ToolResultItem)
            found.append(Called(call.name, call.arguments, str(result.content), result.is_error))
    return found


def test_every_call_of_a_trace_was_run_and_answered(trace: Trace) -> None:
    assert trace.complete
    calls = [item.id for item in trace.items() if isinstance(item, ToolCallItem)]
    assert sorted(calls) == sorted(run.call for run in trace.tool_runs)
    kit = identify(next(iter(trace.tool_sets.values())).tools)
    assert kit is not None and kit.name == build.load(trace.header.trace_id).kit


def test_the_workspace_is_what_its_sources_make(trace: Trace, tmp_path: Path) -> None:
    name = trace.header.trace_id
    assert trace.header.workspace is not None and trace.header.workspace["check"]
    assert trace.path.with_name("workspace.tar").read_bytes() == workspace.pack(
        build.workspace_of(name, tmp_path)
    )


def test_nothing_recorded_looks_like_a_collapse(trace: Trace) -> None:
    for item in trace.items():
        if isinstance(item, AssistantItem | ReasoningItem | CompactionItem):
            assert scan(item.text) is None, item.text[:200]
        elif isinstance(item, ToolCallItem):
            assert scan(item.arguments, "code") is None, item.arguments[:200]


def test_only_the_flaky_service_has_a_loop_of_calls(trace: Trace) -> None:
    found = []
    for thread in trace.threads:
        loops = CallLoops()
        for turn in trace.turns:
            if turn.thread == thread.id:
                facts = TurnFacts(turn.id, NOTHING, calls=runs(trace, turn))
                found += [(one.level, turn.id) for one in loops.after_turn(facts)]
    expected = [("suspect", 19), ("loop", 21)] if trace.header.trace_id == "flaky-service" else []
    assert found == expected


def test_fix_failing_test_is_short_enough_for_examples() -> None:
    trace = Trace.open(shipped()["fix-failing-test"])
    assert 8 <= len(trace.turns) <= 10
    assert largest_prompt(trace) <= 3500


def test_first_look_is_short_enough_for_a_demo_of_half_a_minute() -> None:
    trace = Trace.open(shipped()["first-look"])
    assert 4 <= len(trace.turns) <= 6
    assert largest_prompt(trace) <= 800


def test_django_reservations_is_long_and_full_of_failures() -> None:
    trace = Trace.open(shipped()["django-reservations"])
    results = [item for item in trace.items() if isinstance(item, ToolResultItem)]
    assert len(trace.turns) >= 45 and largest_prompt(trace) >= 50_000
    assert sum(bool(run.exit_code) for run in trace.tool_runs) >= 4
    for words in (
        "not found",
        "Could not find matching text",
        "IntegrityError",
        "timed out",
        "FAILED (failures=1)",
    ):
        assert any(words in str(item.content) for item in results), words


def test_long_context_refactor_has_what_long_contexts_have() -> None:
    trace = Trace.open(shipped()["long-context-refactor"])
    last = [turn for turn in trace.turns if turn.thread == "main"][-1]
    kinds = Counter(item.kind for item in trace.items())
    assert last.usage and (last.usage.prompt_tokens or 0) >= 110_000
    assert kinds["compaction"] == 1 and kinds["reasoning"] >= 5 and len(trace.threads) == 2
    large = [i for i in trace.items() if isinstance(i, ToolResultItem) and len(str(i.content)) >= 16_000]
    assert len(large) >= 5


def test_tools_stress_has_ten_parallel_calls_whose_results_came_in_another_order() -> None:
    trace = Trace.open(shipped()["tools-stress"])
    widest = max(trace.turns, key=lambda turn: len(turn.produced))
    calls = [item for n in widest.produced if isinstance(item := trace.item(n), ToolCallItem)]
    after = [trace.item(number) for number in trace.turns[widest.id + 1].context.append]
    order = [item.call_id for item in after if isinstance(item, ToolResultItem)]
    assert len(calls) == 10
    assert order != [call.call_id for call in calls] and sorted(order) == sorted(c.call_id for c in calls)


def test_all_sessions_together_are_small() -> None:
    files = [path for path in build.HERE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 5_000_000


def test_the_document_has_the_figures_of_the_traces(trace: Trace) -> None:
    row = f"| [{trace.header.trace_id}](#{trace.header.trace_id}) | {len(trace.turns)} | "
    document = (build.HERE.parent / "docs" / "sessions.md").read_text()
    assert row in document and f"| {largest_prompt(trace):,} |" in document


def test_likeness_counts_what_differs(tmp_path: Path) -> None:
    source = shipped()["fix-failing-test"]
    changed = tmp_path / "trace.jsonl"
    text = source.read_text().replace("FAILED (failures=2, errors=1)", "FAILED (failures=3)")
    changed.write_text(text)
    assert likeness(source, source).holds and likeness(source, source).same == 10
    found = likeness(source, changed)
    assert len(found.different) == 1 and not found.holds and found.first_other is None
    changed.write_text(source.read_text().replace("I'll look at the layout", "I look at the layout"))
    assert likeness(source, changed).first_other is not None


async def rebuilt(name: str, tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    await build.record(build.load(name), path, build.SHIPPED / name / "workspace.tar")
    return path


@pytest.mark.sandbox
@pytest.mark.parametrize("name", NO_PACKAGES)
async def test_a_session_comes_out_the_same_when_it_is_run_again(name: str, tmp_path: Path) -> None:
    found = likeness(shipped()[name], await rebuilt(name, tmp_path))
    assert found.holds, str(found)


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PACKAGES)
async def test_a_session_with_packages_comes_out_the_same(name: str, tmp_path: Path) -> None:
    found = likeness(shipped()[name], await rebuilt(name, tmp_path))
    assert found.holds, str(found)


@pytest.mark.sandbox
async def test_a_session_whose_check_fails_is_not_built(tmp_path: Path) -> None:
    session = replace(build.load("fix-failing-test"), check=("false",))
    with pytest.raises(TraceError, match="the check fails after the last turn"):
        await build.record(session, tmp_path / "trace.jsonl", build.SHIPPED / session.name / "workspace.tar")


def played_live(name: str, out: Path) -> SessionFinished:
    """Replay against a simulated engine that plays the recorded assistant, with real tools."""
    flags = [
        "--engine",
        "sim=simulated",
        "--mode",
        "live",
        "--tools",
        "sandbox",
        "--plain",
        "--out",
        str(out),
    ]
    main(["run", "--trace", name, *flags])
    events = [EVENT.validate_json(line) for line in (out / "journal.jsonl").read_bytes().splitlines()]
    return next(event for event in events if isinstance(event, SessionFinished))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", NO_PACKAGES)
def test_live_replay_ends_with_the_work_done(name: str, tmp_path: Path) -> None:
    end = played_live(name, tmp_path / "run")
    assert end.outcome == "stopped"
    assert end.check is not None and end.check["passed"], end.check


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PACKAGES)
def test_live_replay_with_packages_ends_with_the_work_done(name: str, tmp_path: Path) -> None:
    end = played_live(name, tmp_path / "run")
    assert end.check is not None and end.check["passed"], end.check
