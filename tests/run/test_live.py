"""Live sessions: real replies and real results, on a real sandbox."""

import dataclasses
import json
from pathlib import Path

import pytest

from replayer.requests.history import RecordedHistory
from replayer.run.live_history import LiveConversation, LivePolicy
from replayer.run.recorded_tools import RecordedTools
from replayer.tools.execution import Executor
from replayer.tools.sandbox.tested import Sandbox
from replayer.tools.sandbox.workspace import Workspace
from replayer.tools.toolsets import identify
from replayer.tools.verdicts.verdict import Fault, Verdict
from replayer.traces.reader import Trace
from replayer.traces.schema import AssistantItem, ReasoningItem, ToolCallItem
from replayer.wire.types import Reply, Timing, ToolCall

pytestmark = pytest.mark.sandbox

TRACE = Path(__file__).parents[2] / "traces/recorded/fix-failing-test/trace.jsonl"
FINE = Verdict(True)
TIMING = Timing(0, 0, 0, 0)


def reply(text="", *calls, finish=None, **more):
    made = tuple(
        ToolCall(n, name, tool, arguments if isinstance(arguments, str) else json.dumps(arguments))
        for n, (name, tool, arguments) in enumerate(calls)
    )
    finish = finish or ("tool_calls" if made else "stop")
    return Reply(TIMING, content=text, tool_calls=made, finish_reason=finish, done=True, **more)


def recorded_reply(history, turn):
    items = history.recorded(turn)
    calls = [item for item in items if isinstance(item, ToolCallItem)]
    text = "".join(item.text for item in items if isinstance(item, AssistantItem))
    thought = "".join(item.text for item in items if isinstance(item, ReasoningItem))
    return reply(text, *((call.call_id, call.name, call.arguments) for call in calls), reasoning=thought)


@dataclasses.dataclass
class Session:
    history: RecordedHistory
    executor: Executor

    def conversation(self, client="verbatim", **policy):
        return LiveConversation(self.history, self.executor, LivePolicy(**policy), client)


@pytest.fixture
async def session():
    with Trace.open(TRACE) as trace:
        history = RecordedHistory(trace)
        kit = identify(tool for tools in trace.tool_sets.values() for tool in tools.tools)
        workspace = Workspace.from_trace(trace.header.workspace, TRACE)
        async with await Sandbox.start(workspace) as box:
            yield Session(history, Executor(box, kit))


@pytest.mark.parametrize("client", ["verbatim", "zed"])
async def test_the_recorded_assistant_gets_the_recorded_results_and_does_the_work(session, client):
    live = session.conversation(client)
    assert (await live.check())["passed"] is False
    said = []
    while live.finished is None:
        said += await live.accept(recorded_reply(session.history, live.recorded_turn), FINE)
    assert live.finished == "stopped"
    assert [run.against_recorded for run in said if run.against_recorded not in ("same", "equivalent")] == []
    assert len(said) == sum(len(live._recording.by_turn[turn]) for turn in session.history.turns)
    assert (await live.check())["passed"] is True
    assert live.counts.replies == len(session.history.turns)


async def test_verbatim_messages_are_the_recorded_ones(session):
    live = session.conversation()
    for turn in session.history.turns:
        sent, recorded = live.next_messages(), session.history.messages(turn)
        assert [m["role"] for m in sent] == [m["role"] for m in recorded]
        assert [m for m in sent if m["role"] == "assistant"] == [
            m for m in recorded if m["role"] == "assistant"
        ]
        await live.accept(recorded_reply(session.history, turn), FINE)


async def test_ids_are_made_unique_and_results_keep_the_order_of_the_calls(session):
    live = session.conversation()
    await live.accept(
        reply("", (None, "terminal", {"command": "echo 1", "cd": "."}), ("x", "terminal", {"command": "echo 2", "cd": "."}),
              ("x", "terminal", {"command": "echo 3", "cd": "."})),
        FINE,
    )  # fmt: skip
    assistant, *results = live.next_messages()[-4:]
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert len(set(ids)) == 3
    assert assistant["content"] is None
    assert [message["tool_call_id"] for message in results] == ids
    assert [message["content"] for message in results] == [f"```\n{n}\n```" for n in (1, 2, 3)]
    assert live.counts.ids_replaced == 2


async def test_zed_writes_arguments_anew_and_thoughts_as_text(session):
    live = session.conversation("zed")
    spaced = '{ "path" : "durations" }'
    await live.accept(reply("Look.", ("a", "list_directory", spaced), reasoning="Hm. "), FINE)
    message = live.next_messages()[-2]
    assert message["content"] == "Hm. Look."
    assert message["tool_calls"][0]["function"]["arguments"] == '{"path":"durations"}'
    verbatim = session.conversation()
    await verbatim.accept(reply("Look.", ("a", "list_directory", spaced), reasoning="Hm. "), FINE)
    assert verbatim.next_messages()[-2] == {
        "role": "assistant",
        "content": "Look.",
        "reasoning_content": "Hm. ",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "list_directory", "arguments": spaced}}
        ],
    }


async def test_zed_runs_no_call_that_the_engine_did_not_end_for(session):
    call = ("a", "terminal", {"command": "touch ran", "cd": "."})
    live = session.conversation("zed")
    assert await live.accept(reply("", call, finish="stop"), FINE) == []
    assert (live.finished, live.counts.calls_not_run) == ("stopped", 1)
    assert "tool_calls" not in live.next_messages()[-1]
    assert await session.executor.sandbox.kind("ran") is None
    other = session.conversation()
    assert len(await other.accept(reply("", call, finish="stop"), FINE)) == 1


BROKEN = {
    "not JSON": ("read_file", '{"path": "dur', "Error parsing input JSON"),
    "not an object": ("read_file", '["path"]', "Error parsing input JSON"),
    "unknown tool": ("open_file", "{}", "No tool named open_file exists"),
    "missing field": ("read_file", "{}", "missing field `path`"),
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_malformed_call_is_answered_and_counted_and_the_session_goes_on(session, fault):
    tool, arguments, said = BROKEN[fault]
    live = session.conversation("zed")
    (run,) = await live.accept(reply("", ("a", tool, arguments)), Verdict(False))
    assert (run.outcome.kind, run.outcome.is_error) == ("tool_error", True)
    assert live.next_messages()[-1]["content"].startswith(said)
    assert (live.finished, live.counts.malformed_answered, live.counts.substituted) == (None, 1, 0)


async def test_a_malformed_call_can_be_replaced_by_the_recorded_turn(session):
    live = session.conversation(malformed="substitute")
    bad = Verdict(False, (Fault("arguments_not_json", "model", "", True, 0),))
    turn = live.recorded_turn
    runs = await live.accept(reply("", ("a", "read_file", "{")), bad)
    assert live.substituted == "arguments_not_json"
    assert live.counts.substituted == 1
    assert [run.name for run in runs] == [call.name for call in live._recording.by_turn[turn]]
    assert all(run.against_recorded in ("same", "equivalent") for run in runs)
    while live.finished is None:
        await live.accept(recorded_reply(session.history, live.recorded_turn), FINE)
    assert (await live.check())["passed"] is True


async def test_a_session_ends_when_the_model_stops_repeats_a_failure_collapses_or_uses_up_its_turns(session):
    look = ("a", "list_directory", {"path": "durations"})
    missing = ("a", "read_file", {"path": "none.py"})

    async def end(*replies, verdict=FINE, **policy):
        live = session.conversation(**policy)
        for one in replies:
            assert live.finished is None
            await live.accept(one, verdict)
        return live.finished

    assert await end(reply("Done.")) == "stopped"
    assert await end(reply("")) == "stopped"
    assert await end(*[reply("", missing)] * 3) == "same_failure"
    assert await end(*[reply("", missing)] * 2, reply("", look), reply("", missing)) is None
    assert await end(*[reply("", look)] * 4, turn_budget=4) == "budget"
    collapsed = Verdict(False, (Fault("collapsed", "model", "", True),))
    assert await end(reply("(Sigh) " * 50), verdict=collapsed) == "collapsed"


async def test_matched_mode_answers_equal_calls_from_the_recording_and_keeps_the_workspace(session):
    live = session.conversation(tools="matched")
    sources = []
    while live.finished is None:
        runs = await live.accept(recorded_reply(session.history, live.recorded_turn), FINE)
        sources += [run.source for run in runs]
    assert set(sources) == {"recorded"}
    assert (await live.check())["passed"] is True
    fresh = session.conversation(tools="matched")
    (run,) = await fresh.accept(reply("", ("a", "terminal", {"command": "echo other", "cd": "."})), FINE)
    assert (run.source, run.outcome.output) == ("sandbox", "```\nother\n```")


async def test_without_a_sandbox_only_the_recording_answers(session):
    live = LiveConversation(session.history, None, LivePolicy(tools="matched"))
    (first, *_) = await live.accept(recorded_reply(session.history, live.recorded_turn), FINE)
    (other,) = await live.accept(reply("", ("b", "terminal", {"command": "id", "cd": "."})), FINE)
    assert first.source == "recorded"
    assert (other.source, other.outcome.kind) == ("none", "not_executable_here")
    assert await live.check() is None


async def test_recorded_mode_runs_each_turn_in_the_workspace_of_its_turn(session):
    tools = RecordedTools(session.history, session.executor)
    for turn in reversed(session.history.turns):
        runs = await tools.run(turn, recorded_reply(session.history, turn).tool_calls)
        assert all(run.against_recorded in ("same", "equivalent") for run in runs), (turn, runs)
    last = session.history.turns[-1]
    wreck = reply("", ("w", "terminal", {"command": "rm -rf durations", "cd": "."})).tool_calls
    first = session.history.turns[0]
    (run,) = await tools.run(first, wreck)
    assert run.against_recorded is None
    assert tools.diverged_at is None
    await tools.run(last, ())
    assert (await session.executor.sandbox.run(session.executor.sandbox.workspace.check)).exit_code == 0


async def test_a_tool_that_was_offered_but_belongs_to_no_client_is_answered_from_the_recording_only(
    session, monkeypatch
):
    monkeypatch.setattr("replayer.run.live_history.offered", lambda history: frozenset({"mcp__db__query"}))
    live = session.conversation()
    (run,) = await live.accept(reply("", ("a", "mcp__db__query", {"sql": "select 1"})), FINE)
    assert run.outcome.kind == "not_executable_here"
    (other,) = await live.accept(reply("", ("b", "mcp__db__other", {})), FINE)
    assert (other.outcome.kind, other.outcome.output) == ("tool_error", "No tool named mcp__db__other exists")


async def test_a_sandbox_that_ends_under_a_call_ends_a_live_session_and_not_the_run(session):
    live = session.conversation()
    session.executor.sandbox._started.process.kill()
    assert await live.accept(reply("", ("a", "terminal", {"command": "true", "cd": "."})), FINE) == []
    assert live.finished == "sandbox_lost"
    assert (await live.check())["passed"] is False


async def test_a_sandbox_that_ends_under_a_call_is_made_anew_in_recorded_mode(session):
    tools = RecordedTools(session.history, session.executor)
    first, second = session.history.turns[:2]
    await tools.run(first, recorded_reply(session.history, first).tool_calls)
    real, box = session.executor.execute, session.executor.sandbox

    async def deadly(call):
        box._started.process.kill()
        box._started.process.wait()
        return await real(call)

    session.executor.execute = deadly
    runs = await tools.run(second, reply("", ("w", "terminal", {"command": "true", "cd": "."})).tool_calls)
    assert [(run.outcome.kind, run.outcome.detail) for run in runs] == [("limit", {"limit": "sandbox"})]
    session.executor.execute = real
    runs = await tools.run(second, recorded_reply(session.history, second).tool_calls)
    assert all(run.against_recorded in ("same", "equivalent") for run in runs), runs
