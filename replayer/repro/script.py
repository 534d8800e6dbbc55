"""Sends request.json again and says whether the fault of verdict.json shows. Needs the openai package only.

Usage: repro.py [BASE_URL]
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai

HERE = Path(__file__).resolve().parent
CHAT_KEYS = ("model", "messages", "stream")
PAIR_FAULTS = {"silent_repair", "silent_drop", "stream_differs"}
"""Shown only by the answers to the same request with and without streaming."""


@dataclass
class Answer:
    """What came back. `error`: the HTTP status, or the name of what broke; None where the answer is whole."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finish: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: int | str | None = None
    oddities: list[str] = field(default_factory=list)
    """Events that break the protocol."""


def send(request: dict[str, Any], base_url: str, api_key_env: str | None, name: str = "again") -> Answer:
    """Ask once. The bytes of the answer go to again.sse (or again.json)."""
    key = os.environ.get(api_key_env or "", "none")
    client = openai.OpenAI(base_url=base_url, api_key=key, timeout=120, max_retries=0)
    stream = bool(request.get("stream"))
    fields = {key: value for key, value in request.items() if key not in CHAT_KEYS}
    raw = b""
    try:
        with client.chat.completions.with_streaming_response.create(
            model=request["model"], messages=request["messages"], stream=stream, extra_body=fields
        ) as answer:
            for piece in answer.iter_bytes():
                raw += piece
    except openai.APIStatusError as error:
        return Answer(error=error.status_code)
    except Exception as error:  # noqa: BLE001 - while a stream is read, openai lets through what its HTTP library raises
        return Answer(error=type(error).__name__)
    finally:
        (HERE / f"{name}.{'sse' if stream else 'json'}").write_bytes(raw)
    return read_stream(raw) if stream else read_body(raw)


def read_body(raw: bytes) -> Answer:
    answer = Answer()
    try:
        take(answer, json.loads(raw))
    except ValueError:
        answer.error = "not JSON"
    return answer


def read_stream(raw: bytes) -> Answer:
    answer = Answer()
    lines = [
        line[5:].strip() for line in raw.decode("utf-8", "replace").split("\n") if line.startswith("data:")
    ]
    for line in lines:
        if line in ("", "[DONE]"):
            continue
        try:
            take(answer, json.loads(line))
        except ValueError:
            answer.oddities.append("an event that is no JSON")
    if "[DONE]" not in lines:
        answer.oddities.append("no [DONE]")
        if answer.finish is None:
            answer.error = answer.error or "the stream broke off"
    return answer


def take(answer: Answer, chunk: dict[str, Any]) -> None:
    """Add one event, or a whole body."""
    if chunk.get("error"):
        answer.error = "an error event"
    answer.usage = chunk.get("usage") or answer.usage
    for choice in chunk.get("choices") or []:
        delta = choice.get("delta") or choice.get("message") or {}
        said = [delta.get(key) for key in ("content", "reasoning_content", "reasoning", "tool_calls")]
        if any(said) and answer.finish is not None:
            answer.oddities.append("a delta after the finish reason")
        answer.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
        answer.text += delta.get("content") or ""
        for position, piece in enumerate(delta.get("tool_calls") or []):
            take_call(answer, piece, position, whole="message" in choice)
        answer.finish = choice.get("finish_reason") or answer.finish


def take_call(answer: Answer, piece: dict[str, Any], position: int, whole: bool) -> None:
    index = piece.get("index")
    if not whole and not isinstance(index, int):
        answer.oddities.append("no index")
    call = answer.calls.setdefault(index if isinstance(index, int) else position, new_call())
    if "id" in piece:
        call["ids"].append(piece["id"])
    function = piece.get("function") or {}
    if function.get("name") and call["name"]:
        answer.oddities.append("two names at one index")
    call["name"] += function.get("name") or ""
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        answer.oddities.append("arguments that are no string")
        arguments = json.dumps(arguments)
    call["arguments"] += arguments or ""


def new_call() -> dict[str, Any]:
    return {"name": "", "arguments": "", "ids": []}


def strictly(words: str) -> tuple[bool, Any]:
    """(is JSON, value): NaN and duplicate keys are not JSON here."""

    def refuse(found: str) -> None:
        raise ValueError(found)

    def single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("duplicate key")
        return dict(pairs)

    try:
        return True, json.loads(words, parse_constant=refuse, object_pairs_hook=single)
    except ValueError:
        return False, None


TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
    "number": (int, float),
}  # fmt: skip


def breaks(value: Any, schema: Any) -> set[str]:
    """What of the JSON Schema does not hold: the parts that tool schemas use."""
    if not isinstance(schema, dict):
        return set()
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_a(value, kind) for kind in kinds):
        return {"wrong_type"}
    found = {"bad_value"} if out_of_range(value, schema) else set()
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        if set(schema.get("required") or ()) - value.keys():
            found.add("missing_parameter")
        if value.keys() - known.keys():
            found.add("unexpected_parameter")
        for key in value.keys() & known.keys():
            found |= breaks(value[key], known[key])
    if isinstance(value, list):
        for one in value:
            found |= breaks(one, schema.get("items"))
    return found


def is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    return isinstance(value, TYPES.get(kind, object)) or (
        kind == "integer" and isinstance(value, float) and value.is_integer()
    )


def out_of_range(value: Any, schema: dict[str, Any]) -> bool:
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        return True
    if isinstance(value, int | float) and not isinstance(value, bool):
        return not schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if isinstance(value, str):
        size = len(value)
        fits = schema.get("minLength", size) <= size <= schema.get("maxLength", size)
        return not fits or ("pattern" in schema and not re.search(schema["pattern"], value))
    return False


def of_calls(answer: Answer, request: dict[str, Any]) -> set[str]:
    tools = {
        tool["function"]["name"]: tool["function"].get("parameters") for tool in request.get("tools") or []
    }
    found = set()
    for call in answer.calls.values():
        whole, value = strictly(call["arguments"] or "{}")
        if call["name"] not in tools:
            found.add("unknown_tool")
        if not whole:
            found.add("arguments_not_json")
        elif not isinstance(value, dict):
            found.add("arguments_not_object")
        else:
            found |= breaks(value, tools.get(call["name"]))
    ids = [found_id for call in answer.calls.values() for found_id in call["ids"][:1] or [None]]
    if (
        any(not one for one in ids)
        or len(set(ids)) < len(ids)
        or any(len(set(c["ids"])) > 1 for c in answer.calls.values())
    ):
        found.add("bad_call_id")
    if sorted(answer.calls) != list(range(len(answer.calls))) or {"no index", "two names at one index"} & set(
        answer.oddities
    ):
        found.add("bad_call_index")
    return found


def of_ending(answer: Answer, request: dict[str, Any], verdict: dict[str, Any]) -> set[str]:
    limit = request.get("max_tokens") or request.get("max_completion_tokens")
    made, prompt = answer.usage.get("completion_tokens") or 0, answer.usage.get("prompt_tokens") or 0
    full = verdict.get("context_length") and prompt + made >= verdict["context_length"]
    choice = request.get("tool_choice")
    demanded = choice == "required" or isinstance(choice, dict)
    named = (choice.get("function") or {}).get("name") if isinstance(choice, dict) else None
    wrong = named and any(call["name"] != named for call in answer.calls.values())
    silent = not answer.text.strip() and not answer.calls
    checks = {
        "truncated": answer.finish in ("length", "max_tokens") or (limit and made >= limit) or full,
        "empty_turn": silent,
        "finish_contradicts": (answer.finish == "stop") if answer.calls else answer.finish == "tool_calls",
        "protocol": bool(answer.oddities),
        "choice_ignored": (choice == "none" and answer.calls) or (demanded and not answer.calls) or wrong,
    }
    return {name for name, seen in checks.items() if seen}


def of_text(answer: Answer, request: dict[str, Any], verdict: dict[str, Any]) -> set[str]:
    spoken = answer.reasoning + answer.text + "".join(call["arguments"] for call in answer.calls.values())
    unit = (verdict.get("collapse") or {}).get("unit") or ""
    marks = verdict.get("marks") or []
    schema = ((request.get("response_format") or {}).get("json_schema") or {}).get("schema")
    held = strictly(answer.text) if request.get("response_format") else (True, None)
    checks = {
        "collapsed": bool(unit.strip()) and (unit * 4 in spoken or spoken.count(unit) >= 8),
        "leaked_markup": any(mark in answer.text for mark in marks),
        "call_in_reasoning": not answer.calls and any(mark in answer.reasoning for mark in marks),
        "breaks_schema": not answer.calls and (not held[0] or bool(schema and breaks(held[1], schema))),
    }
    return {name for name, seen in checks.items() if seen}


def of_pair(one: Answer, other: Answer) -> set[str]:
    """What the same request shows when it is asked in the other mode too."""
    said = [[(call["name"], call["arguments"]) for call in answer.calls.values()] for answer in (one, other)]
    found = set()
    if len(said[0]) != len(said[1]):
        found |= {"silent_drop", "silent_repair"}
    elif said[0] != said[1]:
        found.add("silent_repair")
    if said[0] != said[1] or one.text.strip() != other.text.strip():
        found.add("stream_differs")
    return found


def shows(request: dict[str, Any], verdict: dict[str, Any], answer: Answer) -> set[str]:
    """The faults that one answer shows; `replayer judge` tells them with more care."""
    if answer.error is not None:
        return {"history_rejected" if answer.error in (400, 422) else "engine_error"}
    return of_calls(answer, request) | of_ending(answer, request, verdict) | of_text(answer, request, verdict)


def other_mode(request: dict[str, Any]) -> dict[str, Any]:
    changed = {key: value for key, value in request.items() if key != "stream_options"}
    stream = not request.get("stream")
    return changed | {"stream": stream} | ({"stream_options": {"include_usage": True}} if stream else {})


def main() -> int:
    request = json.loads((HERE / "request.json").read_bytes())
    verdict = json.loads((HERE / "verdict.json").read_bytes())
    base_url = sys.argv[1] if len(sys.argv) > 1 else verdict["base_url"]
    answer = send(request, base_url, verdict["api_key_env"])
    wanted = {fault["klass"] for fault in verdict["faults"] if fault["fatal"]}
    wanted = wanted or {fault["klass"] for fault in verdict["faults"]}
    seen = shows(request, verdict, answer)
    if wanted & PAIR_FAULTS and answer.error is None:
        seen |= of_pair(
            answer, send(other_mode(request), base_url, verdict["api_key_env"], "again-other-mode")
        )
    if answer.error is not None:
        print(f"error: {answer.error}")
    print(f"text ({len(answer.text)} characters): {answer.text[-300:]!r}")
    for call in answer.calls.values():
        print(f"call {call['name']!r} {call['arguments'][:300]!r}")
    print(f"finish reason {answer.finish}; wanted {sorted(wanted)}, seen again {sorted(wanted & seen)}")
    return 0 if wanted & seen else 1


if __name__ == "__main__":
    sys.exit(main())
