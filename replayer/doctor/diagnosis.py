"""What a server is, what it can and cannot report, and the exact flag that would change that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import httpx
import orjson

from replayer.doctor.cache_probe import Chat, Message, ProbeReply, ProbeResult, probe_prefix_cache
from replayer.engines.base import Engine, EngineFacts, Tristate
from replayer.engines.detect import facts_of
from replayer.engines.http_client import http_client
from replayer.engines.json_values import parsed, section, tristate
from replayer.engines.registry import KINDS
from replayer.telemetry.sampler import read
from replayer.wire.client import WireClient
from replayer.wire.counts import cached_tokens
from replayer.wire.types import JsonObject, Reply, Request, Wire

TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file of the project.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
}
ASK_FOR_CALL = [{"role": "user", "content": "Read the file README.md with the read_file tool."}]


_FACTS = tuple("kind version model models context_length kv_pool_tokens block_size effective".split())


@dataclass(slots=True)
class Diagnosis:
    """`features` are yes, no or unknown; `advice` has one sentence for each that could be better."""

    facts: EngineFacts
    features: dict[str, Tristate] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    wire_notes: list[str] = field(default_factory=list)
    """What its other APIs lack, which no flag changes."""
    prefix_probe: ProbeResult | None = None

    def as_data(self) -> JsonObject:
        return {name: getattr(self.facts, name) for name in _FACTS} | {
            "features": self.features,
            "advice": self.advice,
            "wire_notes": self.wire_notes,
            "prefix_probe": asdict(self.prefix_probe) if self.prefix_probe else None,
        }


Say = Callable[[str], None]
"""What is being waited for."""


async def examine(
    engine: Engine,
    client: WireClient,
    *,
    probe: bool = True,
    longest_prompt: int | None = None,
    api_key: str | None = None,
    say: Say = lambda what: None,
) -> Diagnosis:
    """Ask the server what it is; with `probe`, also send some tiny requests and seven for the prefix cache.

    `longest_prompt` is what a trace needs, in tokens.
    """
    say(f"asking the {engine.kind} server for its settings")
    facts = await facts_of(engine)
    found = Diagnosis(facts, {**KINDS[facts.kind].features, **facts.features})
    if probe and facts.model is not None:
        await _ask(found, engine, client, facts.model, say)
        say("trying the Messages and Responses APIs")
        wires = await probe_wires(client, engine.dial_url, facts.model, api_key)
        found.features |= wires
        found.wire_notes = [NOTES[name] for name, state in wires.items() if state == "no" and name in NOTES]
    say("reading its metrics")
    said = found.features.get("metrics", "unknown")
    found.features["metrics"] = await _metrics(engine, "no" if probe and said == "unknown" else said)
    found.advice += advice_for(facts, found.features)
    if (
        longest_prompt is not None
        and facts.context_length is not None
        and longest_prompt > facts.context_length
    ):
        flag = KINDS[facts.kind].context_flag or "its context option"
        found.advice.append(
            f"the trace needs {longest_prompt:,} tokens of context and the server has {facts.context_length:,}: "
            f"raise {flag}, or replay fewer turns with --max-turns"
        )
    return found


def advice_for(facts: EngineFacts, features: dict[str, Tristate]) -> list[str]:
    if features.get("speculation") != "yes":  # only then do they report what nothing else does
        features = {name: state for name, state in features.items() if name != "per_request_metrics"}
    advice = KINDS[facts.kind].advice
    return [advice[name] for name, state in features.items() if state == "no" and name in advice]


async def _metrics(engine: Engine, said: Tristate) -> Tristate:
    """What the server does counts more than what it says."""
    if engine.kind == "openai":
        return "unknown"
    sample = await read(engine)
    if "missing" not in sample:
        return "yes"
    return "no" if sample["missing"] == "off" and said != "unknown" else said


async def _ask(found: Diagnosis, engine: Engine, client: WireClient, model: str, say: Say) -> None:
    say("sending a request of two words (the first one after a start can take a minute)")
    first = await client.chat(_request(model, [{"role": "user", "content": "Say hi."}], max_tokens=4))
    if first.fault is not None:
        found.advice.append(f"a request of two words fails: {first.fault.message}")
        return
    found.features["usage"] = "yes" if first.usage else "no"
    found.features["done"] = "yes" if first.done else "no"
    found.features["per_request_metrics"] = "yes" if {"metrics", "timings"} & first.extra.keys() else "no"
    say("trying a tool call")
    tools = await client.chat(_request(model, ASK_FOR_CALL, max_tokens=64, tools=[TOOL], tool_choice="auto"))
    found.features["tools"] = tools_of(tools, found.features.get("tools", "unknown"))
    say("trying its prefix cache: up to seven requests of about 1,100 words")
    result = await probe_prefix_cache(_probe_chat(engine, client, model))
    found.prefix_probe = result
    if found.features.get("cached_tokens", "unknown") == "unknown" or result.counter == "not_reported":
        works = {"works": True, "broken": True, "not_reported": False}
        found.features["cached_tokens"] = tristate(works.get(result.counter))
    if found.features.get("prefix_caching", "unknown") == "unknown":
        found.features["prefix_caching"] = result.caching
    found.advice += result.notes


def tools_of(reply: Reply, said: Tristate) -> Tristate:
    """A call shows that they work; a refusal or markup in the text that they do not; a text alone shows nothing."""
    if reply.tool_calls:
        return "yes"
    if reply.fault is not None:
        return "no" if "tool" in reply.fault.message.lower() else said
    return "no" if "<tool_call>" in reply.content or "<function=" in reply.content else said


def _request(model: str, messages: list[Message], **fields: object) -> Request:
    body: JsonObject = {
        "model": model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
    }
    return Request(body=[orjson.dumps(body | fields)])


def _probe_chat(engine: Engine, client: WireClient, model: str) -> Chat:
    async def chat(messages: list[Message]) -> ProbeReply:
        before = await read(engine)
        reply = await client.chat(_request(model, messages, max_tokens=1))
        after = await read(engine)
        usage = engine.usage(reply.usage, reply.extra)
        first = reply.timing.first_token
        return ProbeReply(
            prompt_tokens=usage.prompt_tokens if usage else None,
            cached_tokens=usage.cached_tokens if usage else None,
            ttft_ns=first - reply.timing.sent if first is not None else None,
            metrics_cached=_difference(before, after, "cached_tokens"),
        )

    return chat


def _difference(before: JsonObject, after: JsonObject, name: str) -> float | None:
    return after[name] - before[name] if name in before and name in after else None


def describe(found: Diagnosis) -> str:
    """The diagnosis for people."""
    facts = found.facts
    context = f"{facts.context_length:,} tokens" if facts.context_length else "unknown"
    pool = f"{facts.kv_pool_tokens:,} tokens" if facts.kv_pool_tokens else "unknown"
    wide = max(map(len, [*facts.effective, *found.features, "prefix cache"]))
    lines = [
        f"{facts.base_url}: {facts.kind} {facts.version or '(version unknown)'}",
        f"  {'model':<{wide}} {facts.model or 'unknown'}"
        + (f" (of {len(facts.models)})" if len(facts.models) > 1 else ""),
        f"  {'context':<{wide}} {context}",
        f"  {'KV pool':<{wide}} {pool}" + (f" in blocks of {facts.block_size}" if facts.block_size else ""),
    ]
    lines += [f"  {name:<{wide}} {value}" for name, value in facts.effective.items()]
    lines += ["", *(f"  {name:<{wide}} {state}" for name, state in sorted(found.features.items()))]
    if found.prefix_probe is not None:
        lines += ["", f"  {'prefix cache':<{wide}} {_probe_line(found.prefix_probe)}"]
    for title, texts in (("its other APIs:", found.wire_notes), ("advice:", found.advice)):
        if texts:
            lines += ["", title, *(f"- {text}" for text in texts)]
    return "\n".join(lines)


def _probe_line(probe: ProbeResult) -> str:
    block = f"blocks of {probe.block_size}" if probe.block_size else "block size open"
    return f"works: {probe.caching}, counter: {probe.counter}, {block}"


_ASK = [{"role": "user", "content": "Say hi."}]
_SECONDS = 20


async def probe_wires(
    client: WireClient, base_url: str, model: str, api_key: str | None
) -> dict[str, Tristate]:
    """Sends five tiny requests; what a wire that the server lacks would report is left out."""
    found: dict[str, Tristate] = {}
    messages = await client.chat(_messages(model))
    found["messages"] = _works(messages)
    if found["messages"] == "yes":
        again = await client.chat(_messages(model))
        found["messages_cached_tokens"] = tristate(cached_tokens(again.usage or {}) is not None)
    found["count_tokens"] = await _counts(base_url, model, api_key)
    responses = await client.chat(_responses(model))
    found["responses"] = _works(responses)
    if found["responses"] == "yes":
        found["responses_usage"] = "yes" if responses.usage else "no"
        late = any(note.code == "no_deltas" for note in responses.notes)
        found["responses_stream"] = "no" if late else "yes"
        stored = await client.chat(_responses(model, previous_response_id=responses.extra.get("id")))
        found["stored_responses"] = _works(stored)
    return found


NOTES = {
    "messages_cached_tokens": "it reports no cached tokens on /messages: judge its prefix cache by its metrics, or over chat",
    "responses_usage": "its /responses reports no usage: token counts and speeds are unknown on that wire",
    "responses_stream": "its /responses sends the whole reply in one event: it has no time to first token there",
    "stored_responses": "it keeps no responses: a client that sends previous_response_id is refused",
}


def _on_wire(body: JsonObject, wire: Wire) -> Request:
    headers = {"anthropic-version": "2023-06-01"} if wire == "messages" else {}
    return Request([orjson.dumps({**body, "stream": True})], wire=wire, headers=headers)


def _messages(model: str) -> Request:
    return _on_wire({"model": model, "max_tokens": 4, "messages": _ASK}, "messages")


def _responses(model: str, **more: object) -> Request:
    return _on_wire({"model": model, "max_output_tokens": 16, "input": "Say hi.", **more}, "responses")


def _works(reply: Reply) -> Tristate:
    if reply.fault is None:
        return "yes"
    return "unknown" if reply.fault.kind in ("overloaded", "timeout", "unauthorized") else "no"


async def _counts(base_url: str, model: str, api_key: str | None) -> Tristate:
    """Whether `/messages/count_tokens` answers with a number."""
    headers = {"anthropic-version": "2023-06-01"}
    if api_key:
        headers |= {"x-api-key": api_key, "Authorization": f"Bearer {api_key}"}
    try:
        async with http_client(base_url, timeout=_SECONDS) as client:
            url = base_url.rstrip("/") + "/messages/count_tokens"
            answer = await client.post(url, json={"model": model, "messages": _ASK}, headers=headers)
            return "yes" if answer.status_code == 200 and "input_tokens" in section(parsed(answer)) else "no"
    except (httpx.HTTPError, ValueError):
        return "unknown"
