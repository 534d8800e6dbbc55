"""The verdict that one captured exchange supports: is the turn usable, and which faults has it.

REQUEST is the JSON body that was sent, RESPONSE what came back: an SSE stream or a JSON body. With --pair, the
answer to the same request in the other mode, also what only both together show: arguments or calls that the
engine changed on the way. With --also, once per exchange, a table of wires, streamed or not. Examples:

  replayer judge request.json response.sse
  replayer judge request.json response.sse --pair response-not-streamed.json
  replayer judge request.json response.sse --issue vllm --about "vllm 0.21.0 --tool-call-parser hermes"
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from replayer.commands.flags import flag
from replayer.errors import ReplayerError
from replayer.metrics.differential import mode_row, put_together
from replayer.metrics.run_documents import ModeRow
from replayer.report.sections import differential_section
from replayer.report.table import print_section
from replayer.repro.issue import PROJECTS, Report, issue
from replayer.signals.base import Expected
from replayer.signals.repetition.detector import scan_reply
from replayer.text import console, print_json
from replayer.tools.verdicts import engine_parsers
from replayer.tools.verdicts.case import Case
from replayer.tools.verdicts.differential import token_counts, token_text_of
from replayer.tools.verdicts.engine_parsers import served_readings
from replayer.tools.verdicts.request_facts import RequestFacts, read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import alone, by_mode, judge
from replayer.tools.verdicts.verdict import Fault, Verdict, modes_as_dict
from replayer.traces.wire_forms import wire_of
from replayer.wire.counts import cached_tokens
from replayer.wire.reply import assemble
from replayer.wire.types import JsonObject, Reply, Wire


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("request", type=Path, metavar="REQUEST.json")
    parser.add_argument("response", type=Path, metavar="RESPONSE")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--stream", action="store_true", default=None, help="RESPONSE is a stream")
    flag(mode, "--no-stream", "RESPONSE is one JSON body", action="store_false", dest="stream")
    flag(parser, "--pair OTHER", "the other mode's answer to the same request", type=Path)
    parser.add_argument(
        "--also",
        nargs=2,
        action="append",
        default=[],
        metavar=("REQUEST.json", "RESPONSE"),
        help="the same prompt over another wire or in the other mode: adds a table of wires, streamed or not",
    )
    flag(
        parser,
        "--parsers",
        "also what vLLM's and SGLang's own parsers read in the text, where those packages are installed",
    )
    flag(
        parser,
        "--parsers-of URL",
        "also what the parsers of the SGLang server at URL read in the text; it generates nothing",
    )
    flag(parser, "--issue", "print a bug report in that project's form instead, redacted", choices=PROJECTS)
    flag(parser, "--about TEXT", "with --issue: the engine's version and flags", default="")
    flag(parser, "--json", "one JSON document")


def run(args: argparse.Namespace) -> int:
    exchange = _read_exchange(args.request, args.response, args.stream)
    pair = _reply_in(_read(args.pair), None) if args.pair else None
    case = exchange.case(pair)
    verdict = judge(case)
    if args.issue:
        print(issue(_report(exchange, verdict, args), args.issue))
        return 0
    document = _document(case.reply, verdict, case.validator)
    if args.also or pair is not None:
        others = [_read_exchange(Path(asked), Path(answer)) for asked, answer in args.also]
        document["differential"] = put_together(_rows(exchange, case, others), same_prompts=True)
    if args.parsers or args.parsers_of:
        reply = case.reply
        text = case.token_text or f"{reply.reasoning}\n{reply.content}".strip()
        document |= _parsers(text, exchange.request, args)
    print_json(_json(document)) if args.json else print(_readable(document))
    if not args.json and (found := document.get("differential")):
        print_section(differential_section(found), console())
    return 0


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One captured exchange. `stream`: a stream was asked for."""

    request: RequestFacts
    wire: Wire
    stream: bool
    reply: Reply

    def case(self, pair: Reply | None = None) -> Case:
        return Case(
            self.reply,
            Validator(self.request.tools),
            self.request,
            collapsed=self.collapse(self.reply),
            pair=pair,
            token_text=token_text_of(self.reply),
        )

    def collapse(self, reply: Reply) -> str | None:
        """Where a reply repeats itself, what the repetition signal found."""
        found = scan_reply(reply, Expected(self.request.prompt_contains))
        collapse = next((finding for finding in found if finding.level == "collapsed"), None)
        if collapse is None:
            return None
        where = f"from character {collapse.onset} of {collapse.channel}"
        return f"{collapse.kind} of {collapse.unit[:60]!r} {where}"


def _report(exchange: _Exchange, verdict: Verdict, args: argparse.Namespace) -> Report:
    faults = [asdict(fault) for fault in verdict.faults]
    faults = [fault for fault in faults if fault["fatal"]] or faults
    about = [f"engine: {args.about or '(version unknown: name it with --about)'}"]
    body, raw = _read(args.request), _read(args.response)
    return Report(faults, exchange.wire, exchange.stream, about, body, raw, {})


def _rows(exchange: _Exchange, case: Case, others: list[_Exchange]) -> list[ModeRow]:
    """What each wire answered, in each mode that was given."""
    found: dict[Wire, list[JsonObject]] = {}
    other = exchange.collapse(case.pair) if case.pair else None
    modes = by_mode(case, stream=exchange.stream, collapsed=other) or alone(case, stream=exchange.stream)
    for one, judged in [(exchange, modes), *((o, alone(o.case(), stream=o.stream)) for o in others)]:
        found.setdefault(one.wire, []).append(modes_as_dict(judged) or {})
    return [mode_row(wire, "", wire, prompts) for wire, prompts in found.items()]


def _parsers(text: str, request: RequestFacts, args: argparse.Namespace) -> JsonObject:
    found = engine_parsers.readings(text, request.tools) if args.parsers else []
    if args.parsers and not found:
        print(
            "replayer: neither vllm nor sglang can be imported here; install one beside replayer",
            file=sys.stderr,
        )
    if args.parsers_of:
        found += served_readings(args.parsers_of, text, request.tools)
    return {"parsers": engine_parsers.as_json(found), "parsers_summary": engine_parsers.summary(found)}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReplayerError(f"{path}: {error.strerror or error}") from None


def _read_exchange(request: Path, response: Path, stream: bool | None = None) -> _Exchange:
    try:
        body = orjson.loads(_read(request))
    except orjson.JSONDecodeError as error:
        raise ReplayerError(
            f"{request} is not JSON ({error}); give the request body as it was sent"
        ) from None
    facts, reply = read_request(body, str(request)), _reply_in(_read(response), stream)
    asked = body.get("stream")
    wire = reply.wire if reply.fault is None else wire_of(body)
    return _Exchange(facts, wire, asked if isinstance(asked, bool) else reply.streamed, reply)


def _reply_in(body: bytes, stream: bool | None) -> Reply:
    return assemble(body, stream=not body.lstrip().startswith(b"{") if stream is None else stream)


def _document(reply: Reply, verdict: Verdict, validator: Validator) -> JsonObject:
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


def _fault(fault: Fault) -> JsonObject:
    facts = asdict(fault)
    return {"class": facts.pop("klass"), **facts}


def _json(document: JsonObject) -> str:
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


def _readable(document: JsonObject) -> str:
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
