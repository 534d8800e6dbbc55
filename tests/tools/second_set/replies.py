"""Delivered calls and answers: what is wrong with their arguments, their ending, their text, or with the demand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from tests.tools.second_set.case import Case, Json, body, both, warn
from tests.tools.second_set.grammars import dumps

LS = ("Bash", '{"command": "ls /tmp"}')
MAIN = ("Read", '{"file_path": "/srv/main.py"}')
ANSWER_SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
FORMAT: Json = {
    "tools": None,
    "tool_choice": None,
    "response_format": {"type": "json_schema", "json_schema": {"name": "trip", "schema": ANSWER_SCHEMA}},
}
OBJECT: Json = {"tools": None, "tool_choice": None, "response_format": {"type": "json_object"}}


def cases() -> Iterator[Case]:
    return chain(
        _arguments(),
        _swallowed(),
        _endings(),
        _demands(),
        _structured(),
        _damaged(),
        _empty(),
        _errors(),
        _text(),
    )


def fatal(klass: str, blame: str, **more: Any) -> Json:
    return {"fatal": {klass: blame}, **more}


def _arguments() -> Iterator[Case]:
    bad = {
        "quotes": '{"command": "grep "a" b"}',
        "single": "{'command': 'ls'}",
        "comma": '{"command": "ls",}',
        "nan": '{"command": "ls", "timeout": NaN}',
        "twice": '{"command": "ls", "command": "pwd"}',
        "python": '{"command": "ls", "timeout": None}',
        "bare-key": '{command: "ls"}',
        "newline": '{"command": "ls\npwd"}',
        "text": "ls /tmp",
        "torn": '{"command": "ls /t',
    }
    for name, text in bad.items():
        yield from both(f"not-json-{name}", "", ("Bash", text), **fatal("arguments_not_json", "unknown"))
    for name, text in {
        "list": '["ls"]',
        "null": "null",
        "string": '"ls"',
        "twice-encoded": '"{\\"command\\": 1}"',
    }.items():
        yield from both(f"not-object-{name}", "", ("Bash", text), **fatal("arguments_not_object", "model"))
    yield from both("missing", "", ("Bash", '{"timeout": 3}'), **fatal("missing_parameter", "model"))
    yield from both(
        "missing-deep",
        "",
        ("Edit", '{"path": "/a", "edits": [{"old": "x", "new": "y"}, {"old": "z"}]}'),
        **fatal("missing_parameter", "model"),
    )
    for name, value in {
        "string": '"5"',
        "float": "2.5",
        "list": "[5]",
        "bool": "true",
        "null": "null",
    }.items():
        text = f'{{"file_path": "/a", "limit": {value}}}'
        yield from both(f"type-{name}", "", ("Read", text), **fatal("wrong_type", "model"))
    yield from both(
        "type-array-as-text", "", ("Edit", '{"path": "/a", "edits": "[]"}'), **fatal("wrong_type", "model")
    )
    values = {
        "enum": ("Plan", '{"status": "later"}'),
        "pattern": ("Plan", '{"status": "open", "day": "12.3.2026"}'),
        "range": ("Read", '{"file_path": "/a", "limit": 0}'),
    }
    for name, call in values.items():
        yield from both(f"value-{name}", "", call, **fatal("bad_value", "model"))
    yield from both(
        "unexpected-forbidden",
        "",
        ("Edit", '{"path": "/a", "edits": [], "reason": "x"}'),
        **fatal("unexpected_parameter", "model"),
    )
    yield from both(
        "unexpected-open", "", ("Bash", '{"command": "ls", "why": "x"}'), **warn("unexpected_parameter")
    )
    for name in ("bash", "Bash.run", "functions.Bash", "execute_command", "Lis", "读取"):
        yield from both(f"unknown-{name}", "", (name, '{"command": "ls"}'), **fatal("unknown_tool", "model"))
    for name in ("Bash<|channel|>commentary", "Bash\n<tool_call>", "<function=Bash>"):
        label = fatal("unknown_tool", "parser")
        yield from both(f"unknown-markup-{len(name)}", "", (name, '{"command": "ls"}'), **label)
    yield from both("empty-needs-none", "", ("Status", ""), **warn("protocol"))
    yield from both("empty-needs-some", "", ("Bash", ""), **fatal("arguments_not_json", "unknown"))


def _swallowed() -> Iterator[Case]:
    """Markup inside delivered arguments: the parser read past the end of what it was reading."""
    ends = {
        "hermes": '{"command": "ls"}\n</tool_call>\n<tool_call>\n{"name": "Read", "arguments": {"file_path": "/a"}}',
        "hermes-tag": '{"command": "ls"}\n</tool_call>',
        "mistral": '{"command": "ls"}[TOOL_CALLS]Read[ARGS]{"file_path": "/a"}',
        "kimi": '{"command": "ls"}<|tool_call_end|><|tool_call_begin|>functions.Read:1<|tool_call_argument_begin|>'
        '{"file_path": "/a"}',
        "deepseek": '{"command": "ls"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>Read<｜tool▁sep｜>{"file_path": "/a"}',
    }
    for name, text in ends.items():
        yield from both(f"next-call-{name}", "", ("Bash", text), **fatal("arguments_not_json", "parser"))
    values = {
        "qwen": "ls /tmp\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=Read>\n<parameter=file_path>\n/a",
        "invoke": 'ls /tmp</parameter>\n</invoke>\n<invoke name="Read">\n<parameter name="file_path">/a',
        "glm": "ls /tmp</arg_value>\n</tool_call>\n<tool_call>Read\n<arg_key>file_path</arg_key>\n<arg_value>/a",
    }
    for name, value in values.items():
        text = dumps({"command": value})
        yield from both(f"next-call-in-value-{name}", "", ("Bash", text), **fatal("leaked_markup", "parser"))
    neighbours = {
        "qwen": "ls /tmp\n</parameter>\n<parameter=timeout>\n30",
        "qwen-no-end": "ls /tmp\n<parameter=timeout>\n30",
        "invoke": 'ls /tmp</parameter>\n<parameter name="timeout">30',
        "glm": "ls /tmp</arg_value>\n<arg_key>timeout</arg_key>\n<arg_value>30",
        "dsml": 'ls /tmp</｜DSML｜parameter>\n<｜DSML｜parameter name="timeout" string="false">30',
    }
    for name, value in neighbours.items():
        text = dumps({"command": value})
        yield from both(f"swallowed-{name}", "", ("Bash", text), **fatal("swallowed_parameter", "parser"))
    required = dumps({"path": "/a</parameter>\n<parameter=edits>\n[]"})
    yield from both(
        "swallowed-required",
        "",
        ("Edit", required),
        fatal={"swallowed_parameter": "parser"},
    )
    yield from both(
        "end-tag-in-value", "", ("Bash", dumps({"command": "ls\n</parameter>"})), **warn("leaked_markup")
    )


def _endings() -> Iterator[Case]:
    cut = fatal("truncated", "budget", allowed=frozenset({"finish_contradicts", "leaked_markup"}))
    for reason in ("length", "stop", "max_tokens", "tool_calls"):
        yield from both(f"cut-text-{reason}", "The folder holds", finish=reason, tokens=400, **cut)
        torn = ("Bash", '{"command": "ls /t')
        yield from both(f"cut-call-{reason}", "", torn, finish=reason, tokens=400, **cut)
    yield from both("cut-after-sound-call", "", LS, ("Read", '{"file'), finish="length", tokens=400, **cut)
    yield from both("cut-in-reasoning", "", reasoning="I think that", finish="length", tokens=400, **cut)
    sighs = "Well then. " + "(Sigh) (Laughter) " * 80
    own = "own " * 300
    lines = "The answer is not in the file that I read before.\n" * 40
    for name, text in {"sighs": sighs, "own": own, "sentence": lines}.items():
        collapsed = fatal("collapsed", "model")
        yield from both(f"collapse-{name}", text, **collapsed)
        yield from both(f"collapse-{name}-into-limit", text, finish="length", tokens=400, **collapsed)
        yield from both(
            f"collapse-{name}-thought-into-limit",
            "",
            reasoning=text,
            finish="length",
            tokens=400,
            **collapsed,
        )
    in_call = ("Bash", '{"command": "echo ' + "own " * 300)
    yield from both(
        "collapse-in-call-into-limit", "", in_call, finish="length", tokens=400, **fatal("collapsed", "model")
    )
    yield from both(
        "engine-stops-repetition", "so so so so", finish="repetition", **fatal("collapsed", "model")
    )
    yield from both("stop-with-call", "", LS, finish="stop", **warn("finish_contradicts"))
    yield from both("calls-without-call", "All is done.", finish="tool_calls", **warn("finish_contradicts"))
    for reason in ("abort", "error", "content_filter"):
        yield from both(f"failure-{reason}", "The", finish=reason, **fatal("engine_error", "engine"))


def _demands() -> Iterator[Case]:
    ignored = fatal("choice_ignored", "engine")
    named: Json = {"tool_choice": {"type": "function", "function": {"name": "Read"}}}
    yield from both("none-with-call", "", LS, request={"tool_choice": "none"}, **ignored)
    yield from both("required-without", "I cannot see it.", request={"tool_choice": "required"}, **ignored)
    yield from both("named-other", "", LS, finish="stop", request=named, **ignored)
    yield from both("named-without", "I cannot see it.", request=named, **ignored)
    parallel = fatal("parallel_ignored", "engine")
    alone: Json = {"parallel_tool_calls": False}
    yield from both("parallel-two", "", LS, MAIN, request=alone, **parallel)
    yield from both("parallel-three", "I look.", LS, MAIN, ("List", "{}"), request=alone, **parallel)
    yield from both("parallel-same-tool", "", LS, ("Bash", '{"command": "pwd"}'), request=alone, **parallel)
    yield from both("parallel-one", "", LS, request=alone, sound=True)
    yield from both("parallel-allowed", "", LS, MAIN, request={"parallel_tool_calls": True}, sound=True)


def _structured() -> Iterator[Case]:
    broken = fatal("breaks_schema", "engine")
    answers = {
        "prose": "You should go to Rome for three days.",
        "fenced": '```json\n{"city": "Rome", "days": 3}\n```',
        "prose-before": 'Here it is: {"city": "Rome", "days": 3}',
        "wrong-type": '{"city": "Rome", "days": "three"}',
        "missing": '{"city": "Rome"}',
        "extra": '{"city": "Rome", "days": 3, "note": "sunny"}',
        "torn": '{"city": "Rome", "days',
        "twice": '{"city": "Rome", "days": 3}{"city": "Oslo", "days": 2}',
    }
    for name, text in answers.items():
        yield from both(f"format-{name}", text, request=FORMAT, **broken)
    for name, text in {"prose": "Rome.", "list": '["Rome"]', "torn": '{"city": "Ro'}.items():
        yield from both(f"object-{name}", text, request=OBJECT, **broken)
    yield from both("format-holds", '{"city": "Rome", "days": 3}', request=FORMAT, sound=True)
    yield from both(
        "format-holds-spaced", '\n{\n  "city": "Köln",\n  "days": 1\n}\n', request=FORMAT, sound=True
    )
    yield from both("object-holds", "{}", request=OBJECT, sound=True)
    yield from both(
        "format-cut",
        '{"city": "Ro',
        finish="length",
        tokens=400,
        request=FORMAT,
        **fatal("truncated", "budget"),
    )
    plain: Json = {"tools": None, "tool_choice": None, "response_format": {"type": "text"}}
    yield from both("format-text", "Rome is fine.", request=plain, sound=True)


def _damaged() -> Iterator[Case]:
    """Characters that were lost or doubled between the model's tokens and the client."""
    texts = {
        "replacement": "Das Caf\ufffd ist ge\ufffdffnet, der Preis betr\ufffdgt 5 Euro.",
        "replacement-cjk": "文件\ufffd\ufffd已经写好了。",
        "double-latin": "Das CafÃ© ist geÃ¶ffnet.",
        "double-quotes": "Itâ€™s done, the file â€œmain.pyâ€\x9d is written.",
        "double-cyrillic": "Ð¤Ð°Ð¹Ð» Ð·Ð°Ð¿Ð¸Ñ\x81Ð°Ð½.",
        "double-cjk": "æ\x96\x87ä»¶å·²å\x86\x99å¥½ã\x80\x82",
        "byte-tokens": "Das Caf<0xC3><0xA9> ist offen.",
        "byte-newline": "First line<0x0A>Second line<0x0A>Third line",
        "bpe-space": "TheĠfileĠisĠwritten.",
        "bpe-newline": "Done.ĊTheĠfile isĠthere.",
        "sentencepiece": "▁The▁file▁is▁written.",
    }
    for name, text in texts.items():
        yield from both(f"damaged-answer-{name}", text, **warn("damaged_text"))
        call = ("Bash", dumps({"command": f"echo '{text}' > note.txt"}))
        yield from both(f"damaged-call-{name}", "", call, **fatal("damaged_text", "engine"))


def _empty() -> Iterator[Case]:
    blanks = {
        "zero-width": "\u200b\u200b",
        "joiner": "\u200d\u2060",
        "bom": "\ufeff",
        "nbsp": "\u00a0\u00a0\n",
        "soft-hyphen": "\u00ad",
        "hangul-filler": "\u3164",
        "braille": "\u2800\u2800",
        "marks": "\u200e\u200f",
        "mixed": " \u200b\n\ufeff\t",
    }
    for name, text in blanks.items():
        yield from both(f"empty-{name}", text, **fatal("empty_turn", "unknown"))
        yield from both(
            f"empty-{name}-thought", text, reasoning="I am done.", **fatal("empty_turn", "unknown")
        )


def _errors() -> Iterator[Case]:
    def refused(
        name: str, message: str, code: int, klass: str, blame: str, kind: str = "BadRequestError"
    ) -> Case:
        error = {"error": {"message": message, "type": kind, "param": None, "code": code}}
        return body(f"error-{name}", error, **fatal(klass, blame))

    history, engine = ("history_rejected", "input"), ("engine_error", "engine")
    internal = "InternalServerError"
    yield refused("500-role", "RuntimeError: worker role decode lost its connection", 500, *engine, internal)
    yield refused("500-role-2", "KeyError: 'role' in scheduler state of rank 3", 500, *engine, internal)
    yield refused(
        "500-roles", "disaggregated roles (prefill, decode) are out of sync", 500, *engine, internal
    )
    yield refused("500-cuda", "CUDA error: an illegal memory access was encountered", 500, *engine, internal)
    yield refused("503", "The server role is changing, try again", 503, *engine, "overloaded_error")
    yield refused(
        "mistral-ids",
        "Tool call id was call_7f2a91c3 but must be a-z, A-Z, 0-9, with a length of 9.",
        400,
        *history,
    )
    yield refused(
        "mistral-ids-500",
        "Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9.",
        500,
        *history,
    )
    yield refused(
        "mistral-order",
        "Not the same number of function calls and responses",
        400,
        *history,
        "invalid_request_error",
    )
    yield refused(
        "template", "Conversation roles must alternate user/assistant/user/assistant/...", 400, *history
    )
    yield refused(
        "template-500", "After the optional system message, conversation roles must alternate", 500, *history
    )
    yield refused(
        "last-role",
        "Expected last role User or Tool (or Assistant with prefix True) but got assistant",
        400,
        *history,
    )
    yield refused(
        "orphan-result",
        "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
        400,
        *history,
    )
    yield refused(
        "too-long",
        "This model's maximum context length is 8192 tokens, however you requested 9000",
        400,
        *history,
    )
    yield refused("field", "temperature must be between 0 and 2, got 7", 400, "engine_error", "input")
    yield refused("key", "Invalid API key", 401, "engine_error", "input", "AuthenticationError")
    yield refused("model", "The model `m2` does not exist", 404, "engine_error", "input", "NotFoundError")


def _text() -> Iterator[Case]:
    """Text of the answer that is not a call, though it looks odd."""
    analysis = "<|channel|>analysis<|message|>The user wants the list. We need to call Bash maybe.<|end|>"
    final = "<|start|>assistant<|channel|>final<|message|>There are two files."
    yield from both("analysis-then-final", analysis + final, **warn("leaked_markup"))
    yield from both("analysis-no-end", analysis[:-7] + "\n" + final, **warn("leaked_markup"))
    yield from both(
        "final-channel-only", "<|channel|>final<|message|>There are two files.", **warn("leaked_markup")
    )
    yield from both(
        "analysis-tokens-lost",
        "analysisThe user wants it.assistantfinalThere are two.",
        allowed=frozenset({"leaked_markup"}),
    )
    call = '{"name": "Bash", "arguments": {"command": "ls /tmp"}}'
    for name, text in {
        "json": f"I will list it:\n\n```json\n{call}\n```",
        "plain": f"Let me look.\n```\n{call}\n```",
        "tool-call": f"Let me look.\n```tool_call\n{call}\n```\n",
        "tool-code": 'First I look.\n```tool_code\nprint(Bash(command="ls /tmp"))\n```',
        "chinese": f"我来看一下。\n```json\n{call}\n```",
    }.items():
        yield from both(f"fenced-{name}", text, **warn("leaked_markup"))
    for name, token in {
        "eot": "<|eot_id|>",
        "im": "<|im_end|>",
        "turn": "<end_of_turn>",
        "eos": "</s>",
    }.items():
        yield from both(f"control-{name}", f"All is done.{token}", **warn("leaked_markup"))
