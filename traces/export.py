"""Native traces as other tools read them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from replayer.errors import TraceError
from replayer.traces.chat import assistant_message
from replayer.traces.export_atif import to_atif
from replayer.traces.export_mooncake import to_mooncake
from replayer.traces.reader import Trace, records
from replayer.traces.records import decode, encode
from replayer.traces.requests import RecordedRequests, is_replayable, sent_over
from replayer.traces.schema import ToolCallItem, Turn
from replayer.traces.secrets import Redact, cleaned
from replayer.traces.storage import writing
from replayer.wire.types import JsonObject

Exporter = Callable[[Trace, str | None], Iterator[bytes]]


def to_openai(trace: Trace, thread: str | None) -> Iterator[bytes]:
    """One chat request per turn as JSON lines, with what the recording answered under `response`.

    Keeps messages, tools, parameters, replies, usage and times; loses error flags, opaque records and the names of
    threads (an import finds them again by prefix).
    """
    requests = RecordedRequests(trace)
    found = False
    for turn in trace.turns:
        if thread not in (None, turn.thread) or not is_replayable(turn):
            continue
        found = True
        given = {"model": turn.model or "unknown", **_chat_params(turn)}
        body = requests.body(turn, {**given, "stream": bool(turn.params.get("stream", False))})
        extra: JsonObject = {"response": _response(trace, turn)}
        for key, at in (("start_time", "started"), ("end_time", "ended")):
            if (stamp := getattr(turn.times, at, None)) is not None:
                extra[key] = stamp
        yield body[:-1] + b"," + orjson.dumps(extra)[1:] + b"\n"
    if not found:
        raise TraceError(f"{trace.path}: no request got an answer, there is nothing to export")


def _chat_params(turn: Turn) -> JsonObject:
    """The parameters of a turn that a chat completion has."""
    if sent_over(turn) == "chat":
        return turn.params
    shared = ("temperature", "top_p", "max_tokens", "stream")
    found = {key: turn.params[key] for key in shared if key in turn.params}
    limit = turn.params.get("max_output_tokens")
    return found | ({"max_tokens": limit} if limit is not None else {})


def _response(trace: Trace, turn: Turn) -> JsonObject | None:
    items = [trace.item(number) for number in turn.produced]
    message = assistant_message(items) if items else None
    if message is None:
        return None
    finish = turn.finish_reason or (
        "tool_calls" if any(isinstance(i, ToolCallItem) for i in items) else "stop"
    )
    response: JsonObject = {
        "object": "chat.completion",
        "model": turn.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if (counts := turn.usage) is not None:
        usage: JsonObject = {key: getattr(counts, key) for key in ("prompt_tokens", "completion_tokens")}
        if counts.cached_tokens is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": counts.cached_tokens}
        if counts.reasoning_tokens is not None:
            usage["completion_tokens_details"] = {"reasoning_tokens": counts.reasoning_tokens}
        response["usage"] = usage
    return response


def to_native(trace: Trace, thread: str | None) -> Iterator[bytes]:
    """The trace itself, record by record; with `--redact`, a copy that can be shared."""
    if thread is not None:
        raise TraceError("--thread: a native export is the whole trace")
    yield from (encode(located.record) for located in records(trace.path))


EXPORTS: dict[str, Exporter] = {
    "openai": to_openai,
    "atif": to_atif,
    "mooncake": to_mooncake,
    "native": to_native,
}


def export(
    trace: Trace, to: str, out: Path | None, thread: str | None = None, redact: Redact | None = None
) -> None:
    """Writes to a file or to stdout. Raises TraceError when the file cannot be written; then none is left."""
    chunks = EXPORTS[to](trace, thread)
    if redact is not None:
        clean = (orjson.dumps(cleaned(orjson.loads(chunk), redact)) + b"\n" for chunk in chunks)
        # A native item states its own hash, which must be that of the cleaned text.
        chunks = (encode(decode(chunk)) for chunk in clean) if to == "native" else clean
    if out is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    partial = out.with_name(f".{out.name}.partial")
    try:
        with writing(out):
            with partial.open("wb") as file:
                file.writelines(chunks)
            partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)
