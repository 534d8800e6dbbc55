"""Each fault that can be planted is what an independent judge finds, streamed and whole."""

import asyncio
import dataclasses

import httpx
import orjson
import pytest

from replayer.signals.base import Expected
from replayer.signals.repetition.detector import RepetitionDetector
from replayer.simulated.call_families import FAMILIES
from replayer.simulated.planted import CLASSES, parse_fault
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import Case, judge
from replayer.wire.client import WireClient
from replayer.wire.limits import Timeouts
from replayer.wire.types import Request

EDIT = {
    "type": "function",
    "function": {
        "name": "edit_file",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "mode": {"type": "string", "enum": ["edit", "create"]},
                "line": {"type": "integer", "minimum": 1},
            },
            "required": ["path", "mode", "line"],
        },
    },
}
BODY = {
    "model": "simulated",
    "messages": [{"role": "user", "content": "Fix the failing test in shipper.py."}],
    "tools": [EDIT],
    "temperature": 0,
    "max_tokens": 600,
}


async def send(url, more=None, *, stream=True, silence=60.0):
    """The request as it was read, the reply, and the collapse that was seen while it came."""
    body = BODY | (more or {}) | {"stream": stream}
    if stream:
        body["stream_options"] = {"include_usage": True}
    request = read_request(body)
    detector = RepetitionDetector(Expected(request.prompt_contains))
    found = []
    client = WireClient(
        url, timeouts=Timeouts(first_byte=silence, first_token=silence, idle=silence), retries=0
    )
    reply = await client.chat(
        Request(body=[orjson.dumps(body)], stream=stream), lambda delta: found.extend(detector.observe(delta))
    )
    await client.aclose()
    return request, reply, any(finding.level == "collapsed" for finding in found)


def classes(request, reply, collapsed=False, pair=None):
    told = "it repeats itself" if collapsed else None
    facts = dataclasses.replace(request, temperature=0)
    verdict = judge(Case(reply, Validator(request.tools), facts, collapsed=told, pair=pair))
    return {fault.klass for fault in verdict.faults}, verdict.usable


PLANTED = [
    ("arguments_not_json:form=lost_brace", "arguments_not_json"),
    ("arguments_not_json:form=stray_quote", "arguments_not_json"),
    ("arguments_not_json:form=trailing_comma", "arguments_not_json"),
    ("arguments_not_json:form=nan", "arguments_not_json"),
    ("arguments_not_json:form=duplicate_key", "arguments_not_json"),
    ("arguments_not_object:form=string", "arguments_not_object"),
    ("arguments_not_object:form=list", "arguments_not_object"),
    ("arguments_not_object:form=null", "arguments_not_object"),
    ("missing_parameter", "missing_parameter"),
    ("wrong_type", "wrong_type"),
    ("bad_value", "bad_value"),
    ("unexpected_parameter", "unexpected_parameter"),
    ("unknown_tool", "unknown_tool"),
    ("swallowed_parameter", "swallowed_parameter"),
    ("damaged_text", "damaged_text"),
    ("call_in_reasoning", "call_in_reasoning"),
    ("truncated:at=20", "truncated"),
    ("empty_turn", "empty_turn"),
    ("bad_call_id:form=null", "bad_call_id"),
    ("bad_call_id:form=repeated", "bad_call_id"),
    ("finish_contradicts", "finish_contradicts"),
    ("protocol:form=arguments_object", "protocol"),
    ("history_rejected", "history_rejected"),
    ("500", "engine_error"),
    ("503", "engine_error"),
    ("429", "engine_error"),
] + [(f"leaked_markup:family={family}", "leaked_markup") for family in FAMILIES]
STREAMED = [
    ("bad_call_index:form=same", "bad_call_index"),
    ("protocol:form=delta_after_finish", "protocol"),
    ("protocol:form=call_before_role", "protocol"),
    ("disconnect:at=3", "engine_error"),
    ("stall:at=3", "engine_error"),
    ("stream_error:at=3", "engine_error"),
]


@pytest.mark.parametrize(("fault", "klass"), PLANTED)
@pytest.mark.parametrize("stream", [True, False])
async def test_a_planted_fault_is_found(serve, fault, klass, stream):
    request, reply, _ = await send(await serve(fault=fault), stream=stream)
    found, usable = classes(request, reply)
    assert klass in found
    assert usable == (
        klass in ("unexpected_parameter", "bad_call_id", "finish_contradicts", "protocol") and usable
    )


@pytest.mark.parametrize(("fault", "klass"), STREAMED)
async def test_a_planted_fault_of_a_stream_is_found(serve, fault, klass):
    request, reply, _ = await send(await serve(fault=fault), silence=0.5 if fault.startswith("stall") else 60)
    assert klass in classes(request, reply)[0]


@pytest.mark.parametrize("kind", ["vllm", "sglang", "trtllm", "llamacpp", "ik_llama"])
@pytest.mark.parametrize("stream", [True, False])
async def test_without_a_fault_nothing_is_found(serve, kind, stream):
    request, reply, collapsed = await send(await serve(kind=kind), stream=stream)
    assert classes(request, reply, collapsed) == (set(), True)


@pytest.mark.parametrize(("choice", "message"), [("none", "a call"), ("required", "no call")])
async def test_a_tool_choice_is_kept_unless_the_fault_says_otherwise(serve, choice, message):
    request, reply, _ = await send(await serve(), {"tool_choice": choice})
    assert bool(reply.tool_calls) == (choice == "required") and classes(request, reply)[1]
    request, reply, _ = await send(await serve(fault="choice_ignored"), {"tool_choice": choice})
    assert "choice_ignored" in classes(request, reply)[0], message


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_second_call_is_a_fault_only_where_one_was_allowed(serve, several, stream):
    url = await serve(fault="parallel_ignored")
    request, reply, _ = await send(url, {"parallel_tool_calls": several}, stream=stream)
    assert len(reply.tool_calls) == (1 if several else 2)
    assert classes(request, reply) == ((set(), True) if several else ({"parallel_ignored"}, False))


@pytest.mark.parametrize(("fault", "stream"), [("silent_repair", True), ("silent_drop", False)])
async def test_what_a_parser_does_in_silence_shows_beside_the_other_mode(serve, fault, stream):
    url = await serve(fault=fault)
    _, streamed, _ = await send(url)
    request, whole, _ = await send(url, stream=False)
    reply, pair = (streamed, whole) if stream else (whole, streamed)
    assert fault in classes(request, reply, pair=pair)[0]


async def test_streamed_and_whole_differ_on_purpose(serve):
    url = await serve(fault="stream_differs")
    _, streamed, _ = await send(url, {"tools": None})
    request, whole, _ = await send(url, {"tools": None}, stream=False)
    assert "stream_differs" in classes(request, streamed, pair=whole)[0]


@pytest.mark.parametrize("unit", ["(Sigh) (Laughter) ", "!", "\\n- fix the queue", "queue.flush(); "])
async def test_collapse_from_a_token_on(serve, unit):
    _, reply, collapsed = await send(await serve(fault=f"collapse:at=50:unit={unit}"), {"tools": None})
    assert collapsed and reply.finish_reason == "length"
    assert reply.usage["completion_tokens"] == 600
    text = unit.replace("\\n", "\n")
    assert reply.content[200:].startswith(text) and text not in reply.content[:180]


async def test_collapse_in_reasoning(serve):
    _, reply, collapsed = await send(await serve(fault="collapse:at=10:channel=reasoning"))
    assert collapsed and "(Sigh)" in reply.reasoning and not reply.content


async def test_faults_of_usage_and_done(serve):
    _, reply, _ = await send(await serve(fault=["no_usage", "no_done"]))
    assert reply.usage is None and not reply.done and reply.tool_calls
    _, reply, _ = await send(await serve(fault="null_details"))
    assert reply.usage["prompt_tokens_details"] is None
    _, reply, _ = await send(await serve(fault="malformed_sse:at=3"))
    assert reply.notes or reply.fault


async def test_slow_headers_are_slow(serve):
    _, slow, _ = await send(await serve(fault="slow_headers:ms=150"))
    assert slow.timing.headers - slow.timing.sent >= 150_000_000


async def test_a_rate_strikes_seeded_and_the_truth_is_told(serve):
    """The same requests get the same faults from two servers of one seed; another seed gives others."""

    async def struck(seed):
        url = await serve(fault="unknown_tool@0.3", seed=seed)
        names = []
        for at in range(40):
            more = {"messages": [{"role": "user", "content": f"Fix test {at}"}]}
            names.append((await send(url, more, stream=False))[1].tool_calls[0].name != "edit_file")
        async with httpx.AsyncClient() as http:
            told = (await http.get(url.removesuffix("/v1") + "/simulated/injected")).json()
        assert len(told) == sum(names)
        return names

    first, again, other = await struck(1), await struck(1), await struck(2)
    assert first == again != other and 4 <= sum(first) <= 20


async def statuses(url, bodies):
    async with httpx.AsyncClient(base_url=url, verify=False) as http:
        return [(await http.post("/chat/completions", json=BODY | more)).status_code for more in bodies]


def repeats(marker, turns=15):
    """One session: the same turns each time, with the marker that a run puts behind the first message."""
    first = {"role": "user", "content": f"Fix the failing test{marker}"}
    for turn in range(turns):
        rounds = [{"role": "assistant", "content": "So."}, {"role": "user", "content": f"Go on {turn}"}]
        yield {"messages": [first, *rounds * turn], "tools": None, "max_tokens": 4}


@pytest.mark.parametrize("marked", [True, False])
async def test_repeats_of_a_session_are_independent_and_a_seed_draws_the_same_again(serve, marked):
    """A fault that fell on one turn in every repeat made ten repeats as good as one; a cache that was just emptied
    leaves no marker, and a run's name stands in the marker."""

    async def struck(run, seed=7):
        url = await serve(fault="500@0.1", seed=seed)
        bodies = []
        for repeat in range(12):
            bodies += repeats(f"\n\n[session {run}/{repeat}]" if marked else "")
        failed = [status == 500 for status in await statuses(url, bodies)]
        return [failed[at : at + 15] for at in range(0, len(failed), 15)]

    first, again, other = await struck("r1"), await struck("r2"), await struck("r1", seed=8)
    assert first == again != other
    assert len({tuple(row) for row in first}) > 6
    columns = [sum(column) for column in zip(*first, strict=True)]
    assert max(columns) < 7, "one turn is struck in most repeats"
    assert 6 <= sum(columns) <= 36  # 180 draws at 0.1


async def test_a_rare_fault_fires_at_its_rate(serve):
    """500@0.01 never fired in 2,790 turns of repeated sessions: each turn was drawn once and for all."""
    url = await serve(fault="500@0.01")
    seen = await statuses(url, list(repeats("")) * 62)
    assert 2 <= seen.count(500) <= 22  # 930 draws


async def test_a_rate_that_grows_with_load_strikes_only_under_load(serve):
    url = await serve(fault="500@0:above=4:per=0.25", ttft_ms=30)
    bodies = list(repeats("", 8))
    assert set(await statuses(url, bodies)) == {200}
    alone = await asyncio.gather(*(statuses(url, bodies[:1]) for _ in range(4)))
    crowd = await asyncio.gather(*(statuses(url, bodies[:1]) for _ in range(16)))
    assert alone == [[200]] * 4 and crowd.count([500]) >= 6


def test_every_fault_class_parses_and_colons_may_stand_in_a_unit():
    assert all(parse_fault(f"{klass}@0.5").rate == 0.5 for klass in CLASSES)
    assert parse_fault("collapse:unit=a: b:at=3").keys == {"unit": "a: b", "at": "3"}
