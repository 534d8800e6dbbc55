"""What the engines' own parsers read in a text: vLLM's and SGLang's, where those packages are installed.

Evidence for `judge --parsers`, never needed for a verdict: "sglang hermes reads this, sglang mistral does not".
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from replayer.errors import ReplayerError
from replayer.tools.verdicts.schema_check import Validator
from replayer.traces.schema import ToolSchema
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A call as a parser would have delivered it."""

    name: str
    arguments: str
    valid: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What one parser makes of a text. `failed` is its own error, where it raised one."""

    parser: str
    calls: tuple[ParsedCall, ...] = ()
    failed: str | None = None


Parse = Callable[[str], list[tuple[str, str]]]
"""From a text to names and arguments."""


def readings(text: str, tools: Sequence[ToolSchema]) -> list[Reading]:
    """What every parser that can be imported reads; empty where none can."""
    logging.disable(logging.CRITICAL)  # both packages log each text that they cannot read
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return [read(name, parse, text, Validator(tools)) for name, parse in _parsers(tools)]
    finally:
        logging.disable(logging.NOTSET)


def _parsers(tools: Sequence[ToolSchema]) -> Iterator[tuple[str, Parse]]:
    for package, load in (("vllm", _vllm), ("sglang", _sglang)):
        if importlib.util.find_spec(package) is not None:
            try:
                yield from load(tools)
            except Exception as error:  # noqa: BLE001 - parts may be missing, or of another version
                yield package, _raising(error)


def _raising(error: Exception) -> Parse:
    def parse(_: str) -> list[tuple[str, str]]:
        raise error

    return parse


def read(name: str, parse: Parse, text: str, validator: Validator) -> Reading:
    try:
        found = parse(text)
    except Exception as error:  # noqa: BLE001 - the code is not ours, and the text is hostile
        return Reading(name, failed=f"{type(error).__name__}: {error}"[:200])
    calls = (ParsedCall(of, arguments, validator.check(of, arguments).valid) for of, arguments in found)
    return Reading(name, tuple(calls))


def functions(tools: Sequence[ToolSchema]) -> list[JsonObject]:
    return [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
        }
        for t in tools
    ]


def _sglang(tools: Sequence[ToolSchema]) -> Iterator[tuple[str, Parse]]:
    parser = importlib.import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser
    tool = importlib.import_module("sglang.srt.entrypoints.openai.protocol").Tool
    offered = [tool(**function) for function in functions(tools)]
    for name in sorted(parser.ToolCallParserEnum):

        def parse(text: str, name: str = name) -> list[tuple[str, str]]:
            _, calls = parser(offered, name).parse_non_stream(text)
            return [(str(call.name), str(call.parameters)) for call in calls]

        yield f"sglang {name}", parse


_VLLM_MANAGERS = ("vllm.tool_parsers", "vllm.entrypoints.openai.tool_parsers")
_VLLM_REQUESTS = ("vllm.entrypoints.openai.chat_completion.protocol", "vllm.entrypoints.openai.protocol")


def _vllm(tools: Sequence[ToolSchema]) -> Iterator[tuple[str, Parse]]:
    manager = _first(_VLLM_MANAGERS, "ToolParserManager")
    asked = _first(_VLLM_REQUESTS, "ChatCompletionRequest")
    request = asked(model="m", messages=[{"role": "user", "content": "x"}], tools=functions(tools))
    names = manager.list_registered() if hasattr(manager, "list_registered") else sorted(manager.tool_parsers)
    for name in names:

        def parse(text: str, name: str = name) -> list[tuple[str, str]]:
            information = manager.get_tool_parser(name)(_AnyTokenizer()).extract_tool_calls(text, request)
            return [(call.function.name, call.function.arguments) for call in information.tool_calls]

        yield f"vllm {name}", parse


def _first(modules: Sequence[str], name: str) -> Any:
    for module in modules:
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(module), name)
    raise ImportError(f"no {name} in {' or '.join(modules)}")


class _AnyVocabulary(dict[str, int]):
    """Holds every token: parsers ask for those of their family before they read anything."""

    def get(self, key: str, default: object = None) -> int:
        return self[key]

    def __missing__(self, key: str) -> int:
        self[key] = len(self)
        return self[key]


class _AnyTokenizer:
    """As much of a tokenizer as parsers of whole texts use."""

    def __init__(self) -> None:
        self.vocab = _AnyVocabulary()

    def get_vocab(self) -> dict[str, int]:
        return self.vocab

    def encode(self, text: str, **_: object) -> list[int]:
        return [self.vocab[text]]


def summary(found: Sequence[Reading]) -> str:
    """Which parsers read a valid call, which read something, in one sentence."""
    sound = [one.parser for one in found if any(call.valid for call in one.calls)]
    other = [one.parser for one in found if one.calls and one.parser not in sound]
    words = f"{len(sound)} of {len(found)} parsers read a valid call here"
    words += f" ({', '.join(sound)})" if sound else ""
    return words + (f"; without a valid call: {', '.join(other)}" if other else "")


def as_json(found: Sequence[Reading]) -> list[JsonObject]:
    """The readings for `judge --json`; parsers that read nothing are listed without calls."""
    return [
        {
            "parser": one.parser,
            "calls": [
                {"name": c.name, "arguments": _value(c.arguments), "valid": c.valid} for c in one.calls
            ],
            "failed": one.failed,
        }
        for one in found
    ]


def _value(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


_SGLANG = (
    "deepseekv3 deepseekv31 deepseekv32 glm45 glm47 gpt-oss hermes kimi_k2 lfm2 llama3 mimo minimax-m2 mistral pythonic qwen25 "
    "qwen3_coder step3"
)
"""Names that SGLang's versions know; one that the server does not know is listed as failed."""
_PATIENCE = 20.0
"""Seconds for one text."""


def served_readings(origin: str, text: str, tools: Sequence[ToolSchema]) -> list[Reading]:
    """What each parser of the SGLang server at `origin` reads, the one it was started with first: no package is needed
    here, and the server generates nothing. vLLM and llama.cpp serve no parser."""
    validator = Validator(tools)
    try:
        with httpx.Client(base_url=origin.rstrip("/").removesuffix("/v1"), timeout=_PATIENCE) as server:
            return [read(name, parse, text, validator) for name, parse in _served(server, tools)]
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ReplayerError(
            f"{origin}: no SGLang server answers ({error}); give its origin, such as http://host:30000"
        ) from None


def _served(server: httpx.Client, tools: Sequence[ToolSchema]) -> Iterator[tuple[str, Parse]]:
    own = _own_parser(server)
    for name in dict.fromkeys([*([own] if own else []), *_SGLANG.split()]):

        def parse(text: str, name: str = name) -> list[tuple[str, str]]:
            asked = {"text": text, "tools": functions(tools), "tool_call_parser": name}
            answer = server.post("/parse_function_call", json=asked)
            if answer.status_code != httpx.codes.OK:
                raise ValueError(f"HTTP {answer.status_code}")
            return [(str(call["name"]), str(call["parameters"])) for call in answer.json()["calls"]]

        yield f"served {name}", parse


def _own_parser(server: httpx.Client) -> str | None:
    """What the server says of itself; asked first, so that a wrong address is one error instead of twenty."""
    answer = server.get("/server_info")
    if answer.status_code == httpx.codes.NOT_FOUND:
        answer = server.get("/get_server_info")
    answer.raise_for_status()
    try:
        own = answer.json().get("tool_call_parser")
    except (ValueError, AttributeError):
        return None
    return own if isinstance(own, str) else None
