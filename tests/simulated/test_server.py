"""The simulated engine over real HTTP, met with the official openai client."""

import httpx
import openai
import pytest

from replayer.cli import main
from replayer.errors import PlanError
from replayer.simulated import SimulatedSpec

HELLO = [{"role": "user", "content": "Say hello"}]
READ = {
    "type": "function",
    "function": {
        "name": "read_file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
            "required": ["path"],
        },
    },
}


def client(server, api_key="any"):
    return openai.AsyncOpenAI(base_url=server.base_url, api_key=api_key, max_retries=0)


@pytest.mark.parametrize("kind", ["vllm", "sglang", "trtllm", "llamacpp", "ik_llama"])
async def test_openai_client_streams_and_reads_the_same_reply(start, kind):
    server = await start(kind=kind)
    async with client(server) as api:
        whole = await api.chat.completions.create(model="simulated", messages=HELLO)
        stream = await api.chat.completions.create(
            model="simulated", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content != ""
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens


@pytest.mark.parametrize("kind", ["vllm", "sglang", "trtllm", "llamacpp", "ik_llama"])
async def test_a_call_streams_and_assembles(start, kind):
    server = await start(kind=kind)
    async with (
        client(server) as api,
        api.chat.completions.stream(model="simulated", messages=HELLO, tools=[READ]) as stream,
    ):
        message = (await stream.get_final_completion()).choices[0].message
    assert message.tool_calls[0].function.name == "read_file"
    assert message.tool_calls[0].function.arguments == '{"path":"src/main.py"}'


async def test_wrong_key_and_unknown_model_are_told_as_vllm_tells_them(start):
    server = await start(kind="vllm", api_key="secret")
    async with client(server) as api:
        with pytest.raises(openai.AuthenticationError):
            await api.models.list()
    async with client(server, "secret") as api:
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            await api.chat.completions.create(model="nope", messages=HELLO)


async def test_history_grows_and_its_reuse_is_whole_blocks(start):
    server = await start(kind="vllm", block_size=16)
    messages = [{"role": "system", "content": "x" * 400}, *HELLO]
    async with client(server) as api:
        first = await api.chat.completions.create(model="simulated", messages=messages)
        messages += [first.choices[0].message.model_dump(include={"role", "content"}), *HELLO]
        second = await api.chat.completions.create(model="simulated", messages=messages)
        third = await api.chat.completions.create(model="simulated", messages=messages)
    known = first.usage.prompt_tokens + first.usage.completion_tokens - 1
    assert first.usage.prompt_tokens_details.cached_tokens == 0
    assert second.usage.prompt_tokens_details.cached_tokens == known // 16 * 16
    assert third.usage.prompt_tokens_details.cached_tokens == (third.usage.prompt_tokens - 1) // 16 * 16


async def test_it_ends_when_its_parent_closes_the_pipe(start):
    server = await start()
    server.process.stdin.close()
    assert await server.process.wait() == 0


async def test_reset_and_tokenize(start):
    server = await start(kind="vllm")
    async with httpx.AsyncClient(base_url=server.base_url.removesuffix("/v1")) as http:
        reply = await http.post("/tokenize", json={"messages": HELLO, "tools": [READ]})
        ask = {"messages": HELLO, "tools": [READ], "return_token_ids": True}
        chat = (await http.post("/v1/chat/completions", json=ask)).json()
        assert reply.json()["tokens"] == chat["prompt_token_ids"]
        assert len(chat["choices"][0]["token_ids"]) == chat["usage"]["completion_tokens"]
        assert (await http.post("/reset_prefix_cache")).json() == {"success": True}
        again = (await http.post("/v1/chat/completions", json=ask)).json()
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fault": "unknown_tol@0.1"}, "did you mean 'unknown_tool'"),
        ({"fault": "collapse:att=3"}, "did you mean 'at'"),
        ({"fault": "collapse@3"}, "from 0 to 1"),
        ({"tok_ss": 3}, "did you mean 'tok_s'"),
        ({"kind": "tgi"}, "imitates vllm"),
        ({"slots": "x"}, "a whole number of at least 1"),
        ({"tok_s": -3}, "a number of at least"),
        ({"acceptance": 2}, "between 0 and 1"),
    ],
)
def test_bad_settings_are_named_with_the_nearest_right_one(options, words):
    with pytest.raises(PlanError, match=words):
        SimulatedSpec.from_options(options)


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--captures", "/nonexistent"], 2, "cannot be read"),
        (["--trace", "fix-failing-tset"], 2, "did you mean 'fix-failing-test'"),
        (["--fault", "colapse"], 2, "did you mean 'collapse'"),
    ],
)
def test_the_command_refuses_in_one_sentence(capsys, flags, code, words):
    assert main(["simulate", "--port", "0", *flags]) == code
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1
