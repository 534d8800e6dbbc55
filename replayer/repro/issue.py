"""A bug report in the form that an engine's project asks for: what a maintainer needs to see it happen, and no more.

Texts are redacted: secrets and home paths are replaced, the server's address is the reader's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from replayer.repro.folder import Case
from replayer.text import safe
from replayer.traces.secrets import redactor
from replayer.traces.wire_forms import LIST_OF
from replayer.wire.types import PATHS, JsonObject, Wire

_INLINE_BYTES = 12_000
"""A longer request is attached: issue trackers cut a text at 65,536 characters, and nobody scrolls through one."""
_ANSWER_CHARS = 6_000
EXPECTED = {
    "arguments_not_json": "The arguments of a delivered call are valid JSON.",
    "arguments_not_object": "The arguments of a call are a JSON object.",
    "missing_parameter": "Every required parameter of the tool's schema is in the call's arguments.",
    "wrong_type": "Arguments have the types of the tool's schema.",
    "bad_value": "Arguments keep to the tool's schema.",
    "unexpected_parameter": "Arguments hold no key that the tool's schema forbids.",
    "unknown_tool": "A call names a tool that the request offers.",
    "leaked_markup": "A call is delivered as a call, and its markup does not stay in the text.",
    "swallowed_parameter": "Each parameter is delivered under its own key.",
    "call_in_reasoning": "A call that the model makes is delivered as a call, wherever it writes it.",
    "damaged_text": "Text is delivered as the model wrote it, in whole characters.",
    "empty_turn": "A reply holds text or a call.",
    "breaks_schema": "The answer keeps to the schema of the response format.",
    "bad_call_id": "Every call has an id, and no two calls share one.",
    "bad_call_index": "The pieces of parallel calls carry the index of their own call.",
    "finish_contradicts": "The finish reason agrees with what was delivered.",
    "protocol": "The stream keeps to the protocol of the endpoint.",
    "choice_ignored": "The reply keeps to `tool_choice`.",
    "parallel_ignored": "With `parallel_tool_calls: false` a reply holds one call at most.",
    "silent_repair": "Streamed and not streamed, a reply holds the same arguments.",
    "silent_drop": "Streamed and not streamed, a reply holds the same calls.",
    "stream_differs": "At temperature 0, a reply is the same streamed and not streamed.",
    "history_rejected": "A history that the API's documentation allows is accepted.",
    "collapsed": "The reply ends, or goes on to say something new.",
    "engine_error": "The request is answered.",
}
_FLAGS = (
    "dtype", "quantization", "kv_cache_dtype", "kv_cache_dtype_resolved", "tool_call_parser", "reasoning_parser",
    "attention_backend", "speculation", "tp", "pp", "dp", "chunked_prefill_size",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Project:
    """What an engine's project asks of a report, and the port that its server has by itself."""

    title: str
    port: int
    form: str


PROJECTS = {
    "vllm": Project(
        "[Bug]: ",
        8000,
        "### Your current environment\n\n{environment}\n\n### 🐛 Describe the bug\n\n{found}\n\n"
        "**Expected:** {expected}\n\n**To reproduce:**\n\n{reproduction}\n\n{answer}\n\n"
        "### Before submitting a new issue...\n\n- [ ] Make sure you already searched for relevant issues.\n",
    ),
    "sglang": Project(
        "[Bug] ",
        30000,
        "### Checklist\n\n- [ ] I searched related issues but found no solution.\n- [ ] The bug persists in the latest "
        "version.\n\n### Describe the bug\n\n{found}\n\nExpected: {expected}\n\n{answer}\n\n"
        "### Reproduction\n\n{reproduction}\n\n### Environment\n\n{environment}\n",
    ),
    "llamacpp": Project(
        "Misc. bug: ",
        8080,
        "### Name and Version\n\n{environment}\n\n### Which llama.cpp modules do you know to be affected?\n\n"
        "llama-server\n\n### Problem description & steps to reproduce\n\n{found}\n\nExpected: "
        "{expected}\n\n{reproduction}\n\n### First Bad Commit\n\nnot known\n\n"
        "### Relevant log output\n\n{answer}\n",
    ),
    "trtllm": Project(
        "[Bug]: ",
        8000,
        "### System Info\n\n{environment}\n\n### Reproduction\n\n{reproduction}\n\n"
        "### Expected behavior\n\n{expected}\n\n### actual behavior\n\n{found}\n\n{answer}\n\n"
        "### additional notes\n\nnone\n",
    ),
}


@dataclass(frozen=True, slots=True)
class Report:
    """What a maintainer needs. `faults` as journalled; `environment` a line each; `raw` are the bytes of an answer to
    `body`, where they are at hand, else `kept` is what is known of it."""

    faults: list[JsonObject]
    wire: Wire
    stream: bool
    environment: list[str]
    body: bytes
    raw: bytes | None
    kept: JsonObject


def of_case(case: Case, body: bytes, raw: bytes | None) -> Report:
    kept = _kept(case.said.reply or {})
    return Report(case.faults, case.wire, case.sent.stream, _environment(case), body, raw, kept)


def issue(report: Report, project: str) -> str:
    """Markdown, its first line the title."""
    redact = redactor()

    def clean(text: str) -> str:
        return str(redact(safe(text)))

    asked = PROJECTS[project]
    expected = (EXPECTED.get(fault["klass"], "A usable reply.") for fault in report.faults)
    parts = {
        "environment": clean("\n".join(f"- {line}" for line in report.environment)),
        "found": clean(_found(report.faults)),
        "expected": " ".join(dict.fromkeys(expected)),
        "reproduction": _reproduction(report, clean, asked.port),
        "answer": _answer(report, clean),
    }
    return f"{asked.title}{clean(_title(report))}\n\n{asked.form.format_map(parts)}"


def _title(report: Report) -> str:
    fault = report.faults[0] if report.faults else {"klass": "no fault", "message": ""}
    message = str(fault["message"]).split(";")[0].splitlines()[0] if fault["message"] else ""
    how = "streamed" if report.stream else "not streamed"
    return f"{fault['klass'].replace('_', ' ')} on {PATHS[report.wire]}, {how}: {message}"[:110].rstrip(" :")


def _environment(case: Case) -> list[str]:
    facts = case.lane.facts
    effective: JsonObject = facts.get("effective") or {}
    flags = [
        f"{key}: {_short(effective[key])}" for key in _FLAGS if effective.get(key) not in (None, "", False)
    ]
    command = " ".join(case.lane_plan.command)
    version = f"engine: {facts.get('kind')} {facts.get('version') or '(version unknown)'}"
    return [
        version,
        f"model: {case.lane.model}",
        *flags,
        *([f"started with: `{command}`"] if command else []),
    ]


def _short(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _found(faults: list[JsonObject]) -> str:
    return "\n".join(f"- `{fault['klass']}`: {fault['message']}" for fault in faults) or "- no fault"


def _reproduction(report: Report, clean: Callable[[str], str], port: int) -> str:
    body = orjson.loads(report.body)
    text = clean(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())
    curl = f"curl -sN http://localhost:{port}/v1{PATHS[report.wire]} -H 'Content-Type: application/json' --data-binary"
    if len(text) > _INLINE_BYTES:
        messages = len(body[LIST_OF[report.wire]])
        return f"The attached `request.json` ({messages} messages), sent with\n\n```sh\n{curl} @request.json\n```"
    return f"```sh\n{curl} @- <<'REQUEST'\n{text}\nREQUEST\n```"


def _answer(report: Report, clean: Callable[[str], str]) -> str:
    if report.raw is None:
        words = "As it was put together from the answer of the run (the server was not asked again):"
        text = orjson.dumps(report.kept, option=orjson.OPT_INDENT_2).decode()
    else:
        words, text = "The bytes of an answer:", report.raw.decode("utf-8", "backslashreplace").strip("\n")
    text = clean(text)
    if len(text) > _ANSWER_CHARS:
        half = _ANSWER_CHARS // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    ticks = "```" if "```" not in text else "````````"
    return f"{words}\n\n{ticks}\n{text}\n{ticks}"


_KEPT = ("content", "reasoning", "tool_calls", "finish_reason", "usage", "extra", "done", "fault")


def _kept(reply: JsonObject) -> JsonObject:
    """What came from the engine; its own form of the usage."""
    found = {key: reply[key] for key in _KEPT if reply.get(key) not in (None, "", [], {})}
    usage = found.get("usage") or {}
    return found | ({"usage": usage["raw"]} if usage.get("raw") else {})


def blamed_elsewhere(case: Case) -> str | None:
    """A word of warning where nothing found is the engine's or its parser's doing."""
    blames = {str(fault["blame"]) for fault in case.faults}
    if blames & {"engine", "parser", "unknown"}:
        return None
    return f"this turn's fault is blamed on {' and '.join(sorted(blames)) or 'nobody'}, not on the engine: is it the engine's bug?"
