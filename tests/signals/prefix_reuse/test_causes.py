"""One generated session per cause, each diagnosed with its message and offset; healthy ones give none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from replayer.prefix.chatml import PromptTokens
from replayer.prefix.tokenizers import Characters
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.conclusion import session_verdict
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse
from replayer.traces.schema import Usage
from tests.signals.prefix_reuse.clients import RULES, Change, Request, judge, session, tool


def clock_in_system(turn: int, request: Request) -> None:
    request["messages"][0]["content"] = f"{RULES}Now: 2026-11-21T03:{turn:02d}:59Z. Be brief."


def date_in_first_user_message(turn: int, request: Request) -> None:
    request["messages"][1]["content"] = (
        f"Today is November {turn + 1}, 2026. Fix the failing test in parser.py."
    )


def session_id_in_system(turn: int, request: Request) -> None:
    request["messages"][0]["content"] = (
        f"x-billing: cch={['a91c4', '0f3be', '77d02', 'c1e95', '5b8aa', 'e040d'][turn]};\n{RULES}"
    )


def call_ids_made_anew(turn: int, request: Request) -> None:
    for message in request["messages"]:
        for number, call in enumerate(message.get("tool_calls", ())):
            call["id"] = f"call_{turn * 7919 + number:06x}"


def tools_by_relevance(turn: int, request: Request) -> None:
    request["tools"] = request["tools"][turn % 3 :] + request["tools"][: turn % 3]


def tool_added(turn: int, request: Request) -> None:
    request["tools"] += [tool(f"plugin_{n}") for n in range(turn // 3)]


def system_edited(turn: int, request: Request) -> None:
    mode = "plan" if turn % 2 else "build"
    request["messages"][0]["content"] = f"Mode: {mode}. {RULES}"


def old_results_pruned(turn: int, request: Request) -> None:
    results = [message for message in request["messages"] if message["role"] == "tool"]
    for message in results[:-2]:
        message["content"] = "[Old tool result content cleared]"


def window_slides(turn: int, request: Request) -> None:
    del request["messages"][2 : 2 + 2 * max(0, turn - 2)]


def history_summarised(turn: int, request: Request) -> None:
    if turn >= 3:
        request["messages"][2 : 2 * turn - 2] = [
            {"role": "user", "content": f"Summary: {turn - 2} parts were read."}
        ]


def first_message_rewritten(turn: int, request: Request) -> None:
    plan = ["look around", "read the parts", "find the fault", "repair it", "run the tests", "report"][turn]
    request["messages"][1]["content"] = f"Fix the failing test in parser.py. Plan: {plan}."


def arguments_spaced(turn: int, request: Request) -> None:
    for message in request["messages"][:-2]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = orjson.dumps(
                orjson.loads(call["function"]["arguments"]), option=orjson.OPT_INDENT_2
            ).decode()


def arguments_sorted(turn: int, request: Request) -> None:
    for message in request["messages"][:-2]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = orjson.dumps(
                orjson.loads(call["function"]["arguments"]), option=orjson.OPT_SORT_KEYS
            ).decode()


def thoughts_dropped(turn: int, request: Request) -> None:
    for message in request["messages"][:-2]:
        message.pop("reasoning_content", None)


CLIENT: list[tuple[Change, str, int, int | None, str, int]] = [
    (clock_in_system, "clock_or_date", 1, 0, "messages[0].content", len(RULES) + 20),
    (date_in_first_user_message, "clock_or_date", 1, 1, "messages[1].content", 18),
    (session_id_in_system, "random_id_or_hash", 1, 0, "messages[0].content", 15),
    (tools_by_relevance, "tool_list", 1, None, "tools[0]", 39),
    (tool_added, "tool_list", 3, None, "tools[3]", 0),
    (system_edited, "system_prompt_edited", 1, 0, "messages[0].content", 6),
    (old_results_pruned, "message_dropped", 3, 3, "messages[3].content", 0),
    (window_slides, "message_dropped", 3, 2, "messages[2]", 0),
    (history_summarised, "message_dropped", 3, 2, "messages[2]", 0),
    (first_message_rewritten, "message_rewritten", 1, 1, "messages[1].content", 41),
    (arguments_spaced, "arguments_reserialised", 2, 2, "messages[2].tool_calls[0].function.arguments", 1),
    (arguments_sorted, "arguments_reserialised", 2, 2, "messages[2].tool_calls[0].function.arguments", 2),
    (thoughts_dropped, "reasoning_stripped", 2, 2, "messages[2].reasoning_content", 0),
]


@pytest.mark.parametrize(
    ("change", "cause", "first", "index", "path", "offset"), CLIENT, ids=[case[0].__name__ for case in CLIENT]
)
def test_what_a_client_does(
    change: Change, cause: str, first: int, index: int | None, path: str, offset: int
) -> None:
    _, findings = judge(session(change))
    assert [found.cause for found in findings[:first]] == [None] * first
    assert {found.cause for found in findings[first:]} <= {cause, None}
    place = findings[first]
    assert (place.cause, place.message_index, place.path, place.offset) == (cause, index, path, offset)
    assert place.lost_tokens > 40
    assert place.excerpt_before != place.excerpt_after
    assert f"{first + 1} " in session_verdict(findings)


def test_a_healthy_session_gives_no_cause() -> None:
    turns, findings = judge(session())
    assert {found.cause for found in findings} == {None}
    assert all(turn.divergence is None and turn.lost == 0 for turn in turns)
    assert session_verdict(findings).startswith("healthy")


def test_new_call_ids_are_named_even_where_the_template_does_not_show_them() -> None:
    turns, _ = judge(session(call_ids_made_anew))
    place = turns[2].divergence
    assert place is not None
    assert (place.cause, place.path) == ("random_id_or_hash", "messages[2].tool_calls[0].id")
    assert turns[2].lost == 0


def test_interleaved_sessions_each_continue_their_own() -> None:
    other = session()
    for request in other:
        request["messages"][1] = {"role": "user", "content": "Write the release notes of version 2."}
    mixed = [request for pair in zip(session(), other, strict=True) for request in pair]
    _, findings = judge(mixed)
    assert {found.cause for found in findings} == {None}


def test_going_back_and_repeating_lose_nothing() -> None:
    requests = session()
    again = [*requests[:4], requests[2], requests[5], requests[5]]
    _, findings = judge(again)
    assert {found.cause for found in findings} == {None}


Report = Callable[[int, TurnReuse], Usage | None]


def report_session(report: Report, **settings: Any) -> list[PrefixFinding]:
    reuse = PrefixReuse(**{"block_size": 16, **settings})
    prompts = PromptTokens(Characters())
    findings = []
    for number, request in enumerate(session()):
        messages = [orjson.dumps(message) for message in request["messages"]]
        segments = prompts.prompt(messages, orjson.dumps(request["tools"]))
        turn = reuse.request(str(number), segments, messages, request["tools"])
        cold = turn.prompt_tokens - turn.ideal
        findings.append(reuse.reported(str(number), report(number, turn), ttft_ns=cold * 1_000_000))
    return findings


def test_cache_off() -> None:
    reuse = PrefixReuse(block_size=16)
    findings = []
    for number in range(5):
        turn = reuse.request(str(number), "x" * 1000 + "y" * 100 * number)
        slow = turn.prompt_tokens * 1_000_000
        findings.append(reuse.reported(str(number), Usage(cached_tokens=0), ttft_ns=slow))
    assert [found.cause for found in findings] == [None, *["cache_off"] * 4]
    assert "the prefix cache is off" in session_verdict(findings)


def test_counter_broken_is_told_by_the_time_to_first_token() -> None:
    findings = report_session(lambda number, turn: Usage(cached_tokens=0))
    assert {found.cause for found in findings[2:]} == {"counter_broken"}
    assert findings[3].witness == "cached"
    assert "time to first token says cached" in findings[3].disagreements[0]


def test_counter_broken_is_told_by_the_metrics() -> None:
    reuse = PrefixReuse(block_size=1)
    reuse.request("0", "x" * 500)
    reuse.request("1", "x" * 900)
    found = reuse.reported("1", Usage(cached_tokens=0), metrics_delta=500.0)
    assert (found.cause, found.reported_tokens, found.source) == ("counter_broken", 0, "usage")
    assert found.disagreements == ("usage says 0 cached tokens, the metrics counted 500",)


def test_not_reported_is_not_zero() -> None:
    findings = report_session(lambda number, turn: Usage(prompt_tokens=turn.prompt_tokens))
    assert {found.reported_tokens for found in findings} == {None}
    assert {found.gap for found in findings} == {None}
    assert {found.cause for found in findings[1:]} == {"not_reported"}
    assert "--enable-prompt-tokens-details" in session_verdict(findings)


def test_metrics_stand_in_where_usage_is_silent() -> None:
    reuse = PrefixReuse(block_size=1)
    reuse.request("0", "x" * 500)
    reuse.request("1", "x" * 900)
    found = reuse.reported("1", Usage(), metrics_delta=500.0)
    assert (found.reported_tokens, found.source, found.gap, found.cause) == (500, "metrics", 0, None)


def test_block_granularity() -> None:
    reuse = PrefixReuse(block_size=528)
    reuse.request("0", "x" * 480)
    turn = reuse.request("1", "x" * 480 + "y" * 40)
    found = reuse.reported("1", Usage(cached_tokens=0))
    assert (turn.ideal_by_block_size, found.cause, found.lost_tokens) == (
        {1: 480, 16: 480, 528: 0},
        "block_granularity",
        480,
    )


def test_eviction_by_a_pool_of_known_size() -> None:
    reuse = PrefixReuse(block_size=16, capacity_tokens=1600)
    for number, letter in enumerate("abab"):
        turn = reuse.request(str(number), letter * 1200)
        found = reuse.reported(str(number), Usage(cached_tokens=turn.ideal))
    assert (turn.ideal, turn.evicted, found.cause) == (400, 784, "eviction")
    assert found.evicted_tokens == 784


def test_without_the_size_of_the_pool_nobody_knows_what_was_evicted() -> None:
    reuse = PrefixReuse(block_size=16)
    reuse.request("0", "a" * 1200)
    found = reuse.reported("0", Usage(cached_tokens=0))
    assert found.evicted_tokens is None
    assert PrefixFinding.from_dict({}).evicted_tokens is None, "an older journal"


def cold_after_a_hit(preempted: float | None) -> PrefixFinding:
    reuse = PrefixReuse(block_size=16)
    for number, cached in enumerate([0, 992, 0]):
        reuse.request(str(number), "x" * 1000 + "y" * number)
        reuse.sampled(preempted, None)
        found = reuse.reported(str(number), Usage(cached_tokens=cached))
    return found


def test_eviction_needs_evidence_where_the_pool_is_unknown() -> None:
    without, counted = cold_after_a_hit(None), cold_after_a_hit(3.0)
    assert (without.cause, without.lost_tokens, without.evidence) == ("unknown", 992, ())
    assert (counted.cause, counted.lost_tokens) == ("eviction", 992)
    assert counted.evidence == ("the server counted 3 preemptions or retractions",)


def test_retokenisation_of_what_was_generated() -> None:
    """The text that comes back is the same; its tokens are not (one id where the model had made two)."""
    reuse = PrefixReuse(block_size=1)
    opening = [{"role": "user", "content": "Write a haiku."}]
    answer = {"role": "assistant", "content": "unhappy " * 40}
    prompt = list(range(100))
    reuse.request("0", prompt, opening)
    reuse.generated("0", [1000, 1001] * 40, answer)
    turn = reuse.request(
        "1", [*prompt, *[2000] * 40, 7, 8, 9], [*opening, answer, {"role": "user", "content": "Again."}]
    )
    found = reuse.reported("1", Usage(cached_tokens=turn.ideal))
    assert (turn.shared, found.cause, found.message_index) == (100, "retokenisation", 1)


def test_reasoning_stripped_by_the_template() -> None:
    """Qwen3's template drops the thoughts of turns before the last user message: the messages stay the same."""
    reuse = PrefixReuse(block_size=1)
    thinking = {"role": "assistant", "content": "Done.", "reasoning_content": "Let me see. " * 20}
    messages = [{"role": "user", "content": "a" * 300}, thinking]
    reuse.request("0", "u" + "a" * 300 + "think " * 60 + "Done.", messages)
    grown = [*messages, {"role": "user", "content": "Next."}]
    reuse.request("1", "u" + "a" * 300 + "Done." + "uNext.", grown)
    found = reuse.reported("1", Usage(cached_tokens=301))
    assert (found.cause, found.message_index) == ("reasoning_stripped", 1)


def test_arguments_that_a_client_writes_anew_cost_what_was_generated() -> None:
    """Zed sends compact JSON whatever the model wrote (`to_string(input)`)."""
    reuse = PrefixReuse(block_size=1)
    opening = [{"role": "user", "content": "Edit it. " * 30}]
    written = '{ "path": "a.py",  "text": "' + "z" * 200 + '" }'
    sent = orjson.dumps(orjson.loads(written)).decode()

    def reply(arguments: str) -> dict[str, Any]:
        call = {"id": "c", "type": "function", "function": {"name": "edit", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    reuse.request("0", "Edit it. " * 30 + ">", opening)
    reuse.generated("0", written, reply(written))
    turn = reuse.request(
        "1", "Edit it. " * 30 + ">" + sent + "<ok", [*opening, reply(sent), {"role": "tool", "content": "ok"}]
    )
    found = reuse.reported("1", Usage(cached_tokens=turn.ideal))
    assert (found.cause, found.path) == (
        "arguments_reserialised",
        "messages[1].tool_calls[0].function.arguments",
    )
    assert (found.message_index, found.offset) == (1, 1)


def test_what_was_generated_is_cached_too() -> None:
    reuse = PrefixReuse(block_size=1)
    reuse.request("0", "question")
    reuse.generated("0", "answer")
    turn = reuse.request("1", "questionanswer and more")
    assert (turn.shared, turn.best) == (len("question") + len("answe"), "0")


def test_a_finding_is_plain_data() -> None:
    _, findings = judge(session(clock_in_system))
    data = orjson.loads(orjson.dumps(findings[1].as_dict()))
    assert data["cause"] == "clock_or_date"
    assert data["ideal_by_block_size"]["16"] <= data["ideal_by_block_size"]["1"]


def test_the_verdict_reads_as_a_sentence() -> None:
    _, findings = judge(session(clock_in_system))
    assert session_verdict(findings) == (
        f"every request since turn 2 differs at message 0 (messages[0].content), character {len(RULES) + 21}: a date or "
        "time in the system prompt; 2,095 of 3,447 prompt tokens are recomputed each turn; "
        "fix: move it behind the conversation, or drop the part that changes."
    )


@pytest.mark.parametrize(
    ("one", "other", "cause"),
    [
        ("Heute ist der 1. März 2026.", "Heute ist der 2. März 2026.", "clock_or_date"),
        ("Hoy es 3 de mayo de 2026.", "Hoy es 4 de mayo de 2026.", "clock_or_date"),
        ("当前时间：2026年11月21日。", "当前时间：2026年11月22日。", "clock_or_date"),
        ("現在 10時11分 です", "現在 10時12分 です", "clock_or_date"),
        ("cwd: /tmp/agent-x7_kq2ab/work", "cwd: /tmp/agent-p9zzr4tb/work", "random_id_or_hash"),
        ("cwd: /tmp/tmp.uhwgxaab", "cwd: /tmp/tmp.lokqpbbc", "random_id_or_hash"),
        ("Request #1. ", "Request #2. ", "random_id_or_hash"),
        ("Context tokens: 12345.", "Context tokens: 23456.", "system_prompt_edited"),
        ("cwd: /home/u/alpha", "cwd: /home/u/beta", "system_prompt_edited"),
        ("Version 1.2.3 of the rules.", "Version 1.3.0 of the rules.", "system_prompt_edited"),
    ],
)
def test_what_changes_by_itself_is_told_from_an_edit(one: str, other: str, cause: str) -> None:
    def change(turn: int, request: Request) -> None:
        request["messages"][0]["content"] = (one if turn % 2 else other) + " " + RULES

    _, findings = judge(session(change))
    assert {found.cause for found in findings[1:]} == {cause}
    assert {found.message_index for found in findings[1:]} == {0}


def test_ids_that_a_client_makes_anew_are_named_also_where_the_results_carry_them() -> None:
    def change(turn: int, request: Request) -> None:
        for number, message in enumerate(request["messages"]):
            for call in message.get("tool_calls", ()):
                call["id"] = f"chatcmpl-tool-{turn * 7919 + number:016x}"
            if message["role"] == "tool":
                message["tool_call_id"] = f"chatcmpl-tool-{turn * 7919 + number - 1:016x}"

    turns, _ = judge(session(change))
    places = [turn.divergence for turn in turns[2:]]
    assert {(place.cause, place.path) for place in places if place} == {
        ("random_id_or_hash", "messages[2].tool_calls[0].id")
    }


def test_white_space_is_no_pruning_and_dots_are() -> None:
    def spaces(turn: int, request: Request) -> None:
        request["messages"][1]["content"] = "\n" * (turn % 2) + request["messages"][1]["content"]

    def middle_left_out(turn: int, request: Request) -> None:
        for message in request["messages"][:-3]:
            if message["role"] == "tool":
                message["content"] = message["content"][:90] + "\n[...]\n" + message["content"][-40:]

    assert {found.cause for found in judge(session(spaces))[1][1:]} == {"message_rewritten"}
    assert {found.cause for found in judge(session(middle_left_out))[1][3:]} == {"message_dropped"}
