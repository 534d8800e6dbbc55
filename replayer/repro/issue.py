"""A bug report in the form that an engine's project asks for: what a maintainer needs to see it happen, and no more.

Texts are redacted: secrets and home paths are replaced, the server's address is the reader's own.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson

from replayer.repro.folder import Case
from replayer.text import safe
from replayer.traces.secrets import redactor
from replayer.traces.wire_forms import LIST_OF
from replayer.wire.types import PATHS, JsonObject

PROJECTS = ("vllm", "sglang", "llamacpp", "trtllm")
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
_TITLES = {"vllm": "[Bug]: ", "sglang": "[Bug] ", "llamacpp": "Misc. bug: ", "trtllm": "[Bug]: "}
_FLAGS = (
    "dtype", "quantization", "kv_cache_dtype", "kv_cache_dtype_resolved", "tool_call_parser", "reasoning_parser",
    "attention_backend", "speculation", "tp", "pp", "dp", "chunked_prefill_size",
)  # fmt: skip


def issue(case: Case, project: str, body: bytes, raw: bytes | None) -> str:
    """Markdown, its first line the title. `raw` are the bytes of an answer to `body`, where the server was asked again."""
    redact = redactor()

    def clean(text: str) -> str:
        return str(redact(safe(text)))

    parts = {
        "environment": clean(_environment(case)),
        "found": clean(_found(case)),
        "expected": "\n".join(
            dict.fromkeys(EXPECTED.get(f["klass"], "A usable reply.") for f in case.faults)
        ),
        "reproduction": _reproduction(case, clean, body),
        "answer": _answer(case, clean, raw),
    }
    return _TITLES[project] + clean(_title(case)) + "\n\n" + _FORMS[project](parts)


def _title(case: Case) -> str:
    fault = case.faults[0] if case.faults else {"klass": "no fault", "message": ""}
    message = str(fault["message"]).split(";")[0].splitlines()[0] if fault["message"] else ""
    how = "streamed" if case.sent.stream else "not streamed"
    return f"{fault['klass'].replace('_', ' ')} on {PATHS[case.wire]}, {how}: {message}"[:110].rstrip(" :")


def _environment(case: Case) -> str:
    facts = case.lane.facts
    effective: JsonObject = facts.get("effective") or {}
    lines = [
        f"- engine: {facts.get('kind')} {facts.get('version') or '(version unknown)'}",
        f"- model: {case.lane.model}",
        *(
            f"- {key}: {_short(effective[key])}"
            for key in _FLAGS
            if effective.get(key) not in (None, "", False)
        ),
    ]
    command = " ".join(case.lane_plan.command)
    return "\n".join([*lines, f"- started with: `{command}`"] if command else lines)


def _short(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _found(case: Case) -> str:
    lines = [f"- `{fault['klass']}`: {fault['message']}" for fault in case.faults] or ["- no fault"]
    return "\n".join(lines)


def _reproduction(case: Case, clean: Callable[[str], str], body: bytes) -> str:
    text = clean(orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode())
    messages = len(orjson.loads(body)[LIST_OF[case.wire]])
    url = f"http://localhost:8000/v1{PATHS[case.wire]}"
    if len(text) > _INLINE_BYTES:
        return (
            f"The attached `request.json` ({messages} messages), sent with\n\n"
            f"```sh\ncurl -sN {url} -H 'Content-Type: application/json' --data-binary @request.json\n```"
        )
    fence = "REQUEST"
    return f"```sh\ncurl -sN {url} -H 'Content-Type: application/json' --data-binary @- <<'{fence}'\n{text}\n{fence}\n```"


def _answer(case: Case, clean: Callable[[str], str], raw: bytes | None) -> str:
    if raw is None:
        words = "As it was put together from the answer of the run (the server was not asked again):"
        text = orjson.dumps(_kept(case.said.reply or {}), option=orjson.OPT_INDENT_2).decode()
    else:
        words, text = "The bytes of an answer:", raw.decode("utf-8", "backslashreplace")
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


def _vllm(parts: dict[str, str]) -> str:
    return (
        f"### Your current environment\n\n{parts['environment']}\n\n### 🐛 Describe the bug\n\n{parts['found']}\n\n"
        f"**Expected:** {parts['expected']}\n\n**To reproduce:**\n\n{parts['reproduction']}\n\n{parts['answer']}\n\n"
        "### Before submitting a new issue...\n\n- [ ] Make sure you already searched for relevant issues.\n"
    )


def _sglang(parts: dict[str, str]) -> str:
    return (
        "### Checklist\n\n- [ ] I searched related issues but found no solution.\n- [ ] The bug persists in the latest "
        f"version.\n\n### Describe the bug\n\n{parts['found']}\n\nExpected: {parts['expected']}\n\n{parts['answer']}\n\n"
        f"### Reproduction\n\n{parts['reproduction']}\n\n### Environment\n\n{parts['environment']}\n"
    )


def _llamacpp(parts: dict[str, str]) -> str:
    return (
        f"### Name and Version\n\n{parts['environment']}\n\n### Which llama.cpp modules do you know to be affected?\n\n"
        f"llama-server\n\n### Problem description & steps to reproduce\n\n{parts['found']}\n\nExpected: "
        f"{parts['expected']}\n\n{parts['reproduction']}\n\n### First Bad Commit\n\nnot known\n\n"
        f"### Relevant log output\n\n{parts['answer']}\n"
    )


def _trtllm(parts: dict[str, str]) -> str:
    return (
        f"### System Info\n\n{parts['environment']}\n\n### Reproduction\n\n{parts['reproduction']}\n\n"
        f"### Expected behavior\n\n{parts['expected']}\n\n### actual behavior\n\n{parts['found']}\n\n{parts['answer']}\n\n"
        "### additional notes\n\nnone\n"
    )


_FORMS: dict[str, Callable[[dict[str, str]], str]] = {
    "vllm": _vllm, "sglang": _sglang, "llamacpp": _llamacpp, "trtllm": _trtllm,
}  # fmt: skip
