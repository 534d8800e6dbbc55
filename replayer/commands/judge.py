"""`replayer judge`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import orjson

from replayer.errors import ReplayerError
from replayer.signals.base import Expected
from replayer.signals.repetition import Finding, RepetitionDetector
from replayer.tools.verdicts import engine_parsers
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.differential import token_counts, token_text_of
from replayer.tools.verdicts.request_facts import RequestFacts, read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import judge
from replayer.tools.verdicts.verdict import Fault, Verdict
from replayer.wire.counts import cached_tokens
from replayer.wire.reply import assemble
from replayer.wire.types import Delta, Reply


class Command:
    """The verdict that one captured exchange supports: is the turn usable, and which faults has it.

    REQUEST is the JSON body that was sent, RESPONSE what came back: an SSE stream or a JSON body. With --pair, the
    answer to the same request in the other mode, also what only both together show: arguments or calls that the
    engine changed on the way. Example:

    replayer judge request.json response.sse --pair response-not-streamed.json
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("request", type=Path, metavar="REQUEST.json")
        parser.add_argument("response", type=Path, metavar="RESPONSE")
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--stream", action="store_true", default=None, help="RESPONSE is a stream")
        mode.add_argument(
            "--no-stream", action="store_false", dest="stream", help="RESPONSE is one JSON body"
        )
        parser.add_argument(
            "--pair", type=Path, metavar="OTHER", help="the other mode's answer to the same request"
        )
        parser.add_argument(
            "--parsers",
            action="store_true",
            help="also what vLLM's and SGLang's own parsers read in the text, where those packages are installed",
        )
        parser.add_argument("--json", action="store_true", help="one JSON document")

    def run(self, args: argparse.Namespace) -> int:
        request = _read_request(args.request)
        reply, collapsed = _read_reply(args.response, args.stream, request)
        pair = _read_reply(args.pair, None, request)[0] if args.pair else None
        validator = Validator(request.tools)
        case = Case(
            reply, validator, request, collapsed=collapsed, pair=pair, token_text=token_text_of(reply)
        )
        verdict = judge(case)
        document = _document(reply, verdict, validator)
        if args.parsers:
            document |= _parsers(case.token_text or f"{reply.reasoning}\n{reply.content}".strip(), request)
        print(_json(document) if args.json else _readable(document))
        return 0


def _parsers(text: str, request: RequestFacts) -> dict[str, Any]:
    found = engine_parsers.readings(text, request.tools)
    if not found:
        print(
            "replayer: neither vllm nor sglang can be imported here; install one beside replayer",
            file=sys.stderr,
        )
    return {"parsers": engine_parsers.as_json(found), "parsers_summary": engine_parsers.summary(found)}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReplayerError(f"{path}: {error.strerror or error}") from None


def _read_request(path: Path) -> RequestFacts:
    try:
        body = orjson.loads(_read(path))
    except orjson.JSONDecodeError as error:
        raise ReplayerError(f"{path} is not JSON ({error}); give the request body as it was sent") from None
    return read_request(body, str(path))


def _read_reply(path: Path, stream: bool | None, request: RequestFacts) -> tuple[Reply, str | None]:
    """The assembled reply and, where it repeats itself, what the repetition signal found."""
    body = _read(path)
    if stream is None:
        stream = not body.lstrip().startswith(b"{")
    detector = RepetitionDetector(Expected(request.prompt_contains))
    found: list[Finding] = []

    def watch(delta: Delta) -> None:
        found.extend(detector.observe(delta))

    reply = assemble(body, stream=stream, on_delta=watch)
    found.extend(detector.end(reply))
    collapse = next((finding for finding in found if finding.level == "collapsed"), None)
    if collapse is None:
        return reply, None
    told = f"{collapse.kind} of {collapse.unit[:60]!r} from character {collapse.onset} of {collapse.channel}"
    return reply, told


def _document(reply: Reply, verdict: Verdict, validator: Validator) -> dict[str, Any]:
    prompt_tokens, completion_tokens = token_counts(reply)
    return {
        "usable": verdict.usable,
        "faults": [_fault(fault) for fault in verdict.faults],
        "tool_calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments_raw": call.arguments,
                "arguments": check.value,
                "valid": bool(call.name) and check.valid,
            }
            for call in reply.tool_calls
            for check in (validator.check_call(call),)
        ],
        "finish_reason": reply.finish_reason,
        "content": reply.content,
        "reasoning": reply.reasoning,
        "usage": {
            "prompt_tokens": prompt_tokens,
            "cached_tokens": cached_tokens(reply.usage) if isinstance(reply.usage, dict) else None,
            "completion_tokens": completion_tokens,
        },
        "streamed": reply.streamed,
        "unusable_schemas": validator.unusable,
    }


def _fault(fault: Fault) -> dict[str, Any]:
    return {
        "class": fault.klass,
        "blame": fault.blame,
        "fatal": fault.fatal,
        "call_index": fault.call_index,
        "path": fault.path,
        "message": fault.message,
    }


def _json(document: dict[str, Any]) -> str:
    """The document. Arguments may hold what few parsers read: integers of any length, numbers beyond any float."""
    try:
        return orjson.dumps(document).decode()
    except TypeError:
        pass
    try:
        return json.dumps(document, allow_nan=False)
    except (ValueError, RecursionError):
        calls = [{**call, "arguments": None} for call in document["tool_calls"]]
        return orjson.dumps({**document, "tool_calls": calls}).decode()


def _readable(document: dict[str, Any]) -> str:
    mode = "streamed" if document["streamed"] else "not streamed"
    lines = [
        f"{'usable' if document['usable'] else 'NOT usable'}  ({mode}, finish reason {document['finish_reason']})"
    ]
    for fault in document["faults"]:
        weight = "fault  " if fault["fatal"] else "warning"
        call = f" call {fault['call_index']}" if fault["call_index"] is not None else ""
        lines.append(f"  {weight} {fault['class']}{call} [{fault['blame']}] {fault['message']}")
    for index, call in enumerate(document["tool_calls"]):
        worth = "valid" if call["valid"] else "invalid"
        lines.append(f"  call {index}  {call['name']!r} {_short(call['arguments_raw'])} {worth}")
    if document.get("parsers"):
        lines.append(f"  parsers {document['parsers_summary']}")
    if document["content"].strip():
        lines.append(f"  content {_short(document['content'])}")
    if document["reasoning"].strip():
        lines.append(f"  reasoning {_short(document['reasoning'])}")
    return "\n".join(lines)


def _short(text: str) -> str:
    return repr(text if len(text) <= 160 else text[:160] + "…")
