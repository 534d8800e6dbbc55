"""Recorded replies are found again, also where a replay changed the request; captures come back byte for byte."""

from pathlib import Path

import httpx
import orjson
import pytest

from replayer.requests.history import RecordedHistory
from replayer.simulated.script import Script
from replayer.traces.library import find
from replayer.traces.reader import Trace
from replayer.traces.schema import AssistantItem, ToolCallItem
from tests.generate import long_session

CAPTURES = Path(__file__).parents[1] / "captures"


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """The shipped session, and two generated ones that open alike."""
    folder = tmp_path_factory.mktemp("traces")
    long = [
        str(long_session(folder / f"{seed}.trace.jsonl", turns=20, tokens=20_000, seed=seed))
        for seed in (1, 2)
    ]
    return [str(find("fix-failing-test")), *long]


def produced(trace, turn):
    items = [trace.item(number) for number in trace.turns[turn].produced]
    text = "".join(item.text for item in items if isinstance(item, AssistantItem))
    return text, [(item.name, item.arguments) for item in items if isinstance(item, ToolCallItem)]


def as_sent(messages):
    return messages


def with_other_system(messages):
    return [{"role": "system", "content": "Another prompt."}, *(m for m in messages if m["role"] != "system")]


def live(messages):
    """What a live lane sends: other ids, other tool results, the same conversation."""
    changed = orjson.loads(orjson.dumps(messages).replace(b'"call_', b'"live_'))
    for message in changed:
        if message["role"] == "tool":
            message["content"] = f"took 3 ms\n{message['content']}"
    return changed


@pytest.mark.parametrize("change", [as_sent, with_other_system, live])
@pytest.mark.parametrize("marker", [None, "\n\n[session run-1/x/2/1]"])
def test_every_turn_of_every_session_is_found(sessions, change, marker):
    script = Script(sessions)
    for path in sessions:
        with Trace.open(path) as trace:
            history = RecordedHistory(trace)
            for at, turn in enumerate(history.turns):
                match = script.match(change(history.messages(turn, marker=marker)), history.tools(turn))
                reply = (match.reply.content, [(call.name, call.arguments) for call in match.reply.calls])
                assert reply == produced(trace, turn), (path, at)


def exchanges(folder):
    for request in sorted((CAPTURES / folder).glob("*.request.json")):
        stem = request.name.removesuffix(".request.json")
        for response in request.parent.glob(f"{stem}.response.*"):
            yield request.read_bytes(), response.read_bytes()


@pytest.mark.parametrize(
    "folder",
    ["vllm-0.32-cpu/plain", "sglang-0.5.23-cpu", "llama.cpp/own-template", "llama.cpp/tools", "ik_llama.cpp"],
)
async def test_captured_exchanges_come_back_byte_for_byte(serve, folder):
    url = (await serve(captures=str(CAPTURES / folder))).removesuffix("/v1")
    answers = {}
    for request, response in exchanges(folder):
        answers.setdefault(canonical(request), set()).add(response)
    async with httpx.AsyncClient(base_url=url) as http:
        for request, _ in exchanges(folder):
            played = (await http.post("/v1/chat/completions", content=request)).content
            assert played in answers[canonical(request)]  # two captures may share a request
    assert len(answers) > 5


def canonical(body):
    try:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        return body


async def test_pages_that_were_captured_twice_come_in_their_order(serve, tmp_path):
    for when, text in (("before", "# one"), ("after", "# two")):
        (tmp_path / f"00_metrics_{when}.response.body").write_text(text)
    url = (await serve(captures=str(tmp_path))).removesuffix("/v1")
    async with httpx.AsyncClient(base_url=url) as http:
        assert [(await http.get("/metrics")).text for _ in range(3)] == ["# one", "# two", "# two"]
        assert (await http.get("/nothing")).status_code == 404
