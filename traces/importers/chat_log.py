"""Logs of OpenAI chat requests as JSON lines: request/response pairs in any wrapper, bare requests, and LiteLLM's.

Projection P: everything of the request (order of keys, extra keys, parameters) and, of the response, the first choice,
usage and times. Requests are put together into conversations (see exchanges.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.exchange import Exchange, from_reply, from_response
from replayer.traces.importers.exchanges import sessions
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.sorting import Sorter
from replayer.traces.importers.values import as_dict, as_str, dicts, epoch, opt_str, parsed
from replayer.traces.schema import Fidelity, Times, Usage
from replayer.wire.reply import assemble
from replayer.wire.types import JsonObject, Reply

_REQUEST_KEYS = ("request", "request_body", "body", "input", "kwargs", "req")
_RESPONSE_KEYS = ("response", "response_body", "output", "completion", "resp", "result")
_PARAMETERS = frozenset(
    {"model", "tools", "temperature", "max_tokens", "max_completion_tokens", "stream", "output_length"}
)
_NOT_SENT = frozenset(
    """
    response start_time end_time finish_reason usage id session_id output_length timestamp delay
    message_mode
    """.split()
)
_LITELLM_CALLS = ("completion", "acompletion")
_OF_RESPONSES = frozenset(
    """
    instructions tools stream max_output_tokens store reasoning previous_response_id text
    """.split()
)
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class ChatLog(Importer):
    format = "openai-log"
    fidelity = Fidelity(text="recorded", arguments="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        found = [exchange_of(record) for record in probe.head[:16] if isinstance(record, dict)]
        return any(found) and sum(1 for e in found if e) * 2 >= len(found)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        sorter = Sorter()
        skipped = 0
        for offset, record in probe.located():
            exchange = exchange_of(record)
            if exchange is None:
                skipped += 1
            else:
                sorter.add(offset, exchange)
        if skipped:
            probe.warn(f"lines that hold no chat request, and are left out: {skipped}")

        yield from sessions(sorter, lambda offset: exchange_of(probe.record_at(offset)))


def exchange_of(record: object) -> Exchange | None:
    """The exchange of one logged object; None where it holds none."""
    if not isinstance(record, dict):
        return None
    if {"model_parameters", "optional_params"} & record.keys() or record.get("call_type") in _LITELLM_CALLS:
        return _litellm(record)
    for key in _REQUEST_KEYS:
        request = as_dict(parsed(record.get(key)))
        if is_request(request):
            return _paired(record, request)
    if not (is_request(record) and set(record) & _PARAMETERS):
        return None
    messages = record.get("messages")
    ends = isinstance(messages, list) and messages[-1].get("role") == "assistant"
    # a request waits for its answer; a list that ends with one is a transcript
    return None if ends and "response" not in record else _bare(record)


def is_request(request: JsonObject) -> bool:
    """Whether it is the body of a request of Chat Completions, Messages or Responses."""
    messages = request.get("messages")
    given = request.get("input")
    if messages is None and given and "model" in request:
        listed = isinstance(given, list) and all(type(item) is dict for item in given)
        return listed or (
            isinstance(given, str) and bool(_OF_RESPONSES & request.keys())
        )  # embeddings have input, too
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(type(m) is dict and type(role := m.get("role")) is str and role in _ROLES for m in messages)
    )


def _paired(record: JsonObject, request: JsonObject) -> Exchange:
    started = epoch(record.get("start_time") or record.get("started") or record.get("timestamp"))
    ended = epoch(record.get("end_time") or record.get("ended"))
    exchange = Exchange(
        request=request,
        session=opt_str(record.get("session_id")) or opt_str(record.get("conversation_id")),
        times=Times(started=started, ended=ended) if started else None,
    )
    response = next((record[key] for key in _RESPONSE_KEYS if key in record), None)
    return with_response(exchange, response)


def with_response(exchange: Exchange, response: object) -> Exchange:
    """The reply from a whole completion, a list of chunks, the text of an event stream, or a bare message."""
    value = parsed(response)
    if isinstance(value, str) and "data:" in value:
        lines = value.replace("\r\n", "\n").strip()
        divided = lines if "\n\n" in lines else lines.replace("\n", "\n\n")  # some logs omit blank lines
        return from_reply(exchange, assemble(divided.encode("utf-8", "replace"), stream=True))
    if isinstance(value, list):
        return from_reply(exchange, _assembled(value))
    fields = as_dict(value)
    if fields.get("object") == "response" or (
        fields.get("type") == "message" and isinstance(fields.get("content"), list)
    ):
        return from_reply(exchange, assemble(orjson.dumps(fields), stream=False))
    if "body" in fields and "choices" not in fields:
        return with_response(exchange, fields["body"])
    if "choices" in fields:
        first = next(iter(dicts(fields["choices"])), {})
        return (
            from_reply(exchange, _assembled([fields]))
            if "delta" in first
            else from_response(exchange, fields)
        )
    if fields.get("role") == "assistant":
        exchange.reply = fields
    return exchange


def _assembled(chunks: list[object]) -> Reply:
    return assemble(b"".join(b"data: %b\n\n" % orjson.dumps(chunk) for chunk in chunks), stream=True)


def _bare(record: JsonObject) -> Exchange:
    """A request alone; results that a benchmark or an export adds to the line are not parameters."""
    request = {key: value for key, value in record.items() if key not in _NOT_SENT}
    started, ended = epoch(record.get("start_time")), epoch(record.get("end_time"))
    exchange = Exchange(
        request=request,
        session=opt_str(record.get("session_id")),
        times=Times(started=started, ended=ended) if started or ended else None,
    )
    return with_response(exchange, record.get("response"))


def _litellm(record: JsonObject) -> Exchange | None:
    messages = parsed(record.get("messages"))
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    parameters = as_dict(parsed(record.get("model_parameters") or record.get("optional_params")))
    request = {"model": record.get("model"), "messages": messages, **parameters}
    if not is_request(request):
        return None
    exchange = Exchange(
        request=request,
        session=opt_str(as_dict(record.get("metadata")).get("session_id"))
        or opt_str(record.get("session_id")),
        times=_litellm_times(record),
    )
    exchange = with_response(exchange, record.get("response"))
    if exchange.reply is None and isinstance(record.get("response"), str) and record["response"]:
        exchange.reply = {"role": "assistant", "content": record["response"]}
    if exchange.usage is None and record.get("prompt_tokens") is not None:
        exchange.usage = Usage(
            prompt_tokens=record.get("prompt_tokens"), completion_tokens=record.get("completion_tokens")
        )
    if record.get("status") == "failure":
        exchange.finish_reason = "error"
        exchange.notes += (f"a request failed: {as_str(record.get('error_str'))[:120]}",)
    return exchange


def _litellm_times(record: JsonObject) -> Times:
    """For replies that did not stream LiteLLM gives the end as the first token."""
    ended = epoch(record.get("endTime") or record.get("end_time"))
    first = epoch(record.get("completionStartTime"))
    return Times(
        started=epoch(record.get("startTime") or record.get("start_time")),
        first_token=first if first != ended else None,
        ended=ended,
    )
