"""A stand-in chat template: ChatML with tools in the Hermes notation, rendered message by message.

Used where no engine renders the prompt. Real templates write other words around the same texts, so lengths are
close and places of change are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from replayer.prefix.tokenizers import Tokenizer

NAME = "ChatML stand-in"
_GENERATION = "<|im_start|>assistant\n"
_END = "<|im_end|>\n"
_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
    "</tool_call>"
)
_KEPT_BYTES = 256 << 20


class PromptTokens:
    """Renders and tokenizes requests as segments, one per message; what was seen before costs a look-up.

    `messages` are JSON bytes, which make good keys; `tools` is the JSON of the list.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._segments: dict[tuple[str, bytes], bytes] = {}
        self._bytes = 0

    @property
    def source(self) -> str:
        """Where the counts come from, as it is shown."""
        return self._tokenizer.name

    def prompt(self, messages: Sequence[bytes], tools: bytes = b"[]") -> list[bytes]:
        roles = [_role(message) for message in messages]
        segments: list[bytes] = []
        if tools != b"[]" and (not roles or roles[0] != "system"):
            segments.append(self._segment("tools", tools, lambda: system_text("", orjson.loads(tools))))
        for n, message in enumerate(messages):
            if n == 0 and roles[0] == "system" and tools != b"[]":
                segments.append(self._head(message, tools))
                continue
            if roles[n] == "assistant":
                segments += self._reply_segments(message)
                continue
            after = n > 0 and roles[n - 1] == "tool"
            before = n + 1 < len(roles) and roles[n + 1] == "tool"
            segments.append(self._message(message, roles[n], after, before))
        segments.append(self._segment("generation", b"", lambda: _GENERATION))
        return segments

    def _reply_segments(self, message: bytes) -> Iterator[bytes]:
        """The generation prompt apart from what follows it: the model's tokens part there, too."""
        yield self._segment("generation", b"", lambda: _GENERATION)
        yield self._segment("reply", message, lambda: _after(message_text(orjson.loads(message))))

    def reply(self, message: bytes) -> bytes:
        """What the model generated when it gave this assistant message."""
        return self._tokenizer.encode(_after(message_text(orjson.loads(message))).removesuffix("\n"))

    def _head(self, message: bytes, tools: bytes) -> bytes:
        def text() -> str:
            return system_text(_plain(orjson.loads(message).get("content")), orjson.loads(tools))

        return self._segment("head", message + tools, text)

    def _message(self, message: bytes, role: str, after_tool: bool, before_tool: bool) -> bytes:
        joined = role == "tool"
        kind = f"message{after_tool:d}{before_tool:d}" if joined else "message"
        return self._segment(
            kind,
            message,
            lambda: message_text(orjson.loads(message), joined and after_tool, joined and before_tool),
        )

    def _segment(self, kind: str, source: bytes, text: Callable[[], str]) -> bytes:
        key = (kind, source)
        known = self._segments.get(key)
        if known is None:
            if self._bytes > _KEPT_BYTES:
                self._segments.clear()
                self._bytes = 0
            known = self._segments[key] = self._tokenizer.encode(text())
            self._bytes += len(source) + len(known)
        return known


def _after(text: str) -> str:
    """An assistant message without its generation prompt."""
    return text.removeprefix(_GENERATION) if text.startswith(_GENERATION) else _END


def system_text(system: str, tools: Sequence[Any]) -> str:
    offered = "".join("\n" + orjson.dumps(tool).decode() for tool in tools)
    head = system + "\n\n" if system else ""
    return f"<|im_start|>system\n{head}{_TOOLS_HEAD}{offered}{_TOOLS_TAIL}<|im_end|>\n"


def message_text(message: Mapping[str, Any], after_tool: bool = False, before_tool: bool = False) -> str:
    """One message. Results of parallel calls share a user block: those with a neighbour leave it open."""
    role, content = str(message.get("role", "")), _plain(message.get("content"))
    if role == "tool":
        head, tail = "" if after_tool else "<|im_start|>user", "" if before_tool else "<|im_end|>\n"
        return f"{head}\n<tool_response>\n{content}\n</tool_response>{tail}"
    if role != "assistant":
        return f"<|im_start|>{role}\n{content}<|im_end|>\n"
    thought = _plain(message.get("reasoning_content") or message.get("reasoning"))
    parts = [f"<think>\n{thought}\n</think>\n"] if thought else []
    parts += [content] if content else []
    parts += [_call(call) for call in message.get("tool_calls") or ()]
    return "<|im_start|>assistant" + "".join("\n" + part for part in parts) + "<|im_end|>\n"


def _call(call: Any) -> str:
    function = call.get("function", call) if isinstance(call, dict) else {}
    arguments = function.get("arguments", "")
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return f'<tool_call>\n{{"name": "{function.get("name")}", "arguments": {text}}}\n</tool_call>'


def _plain(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return orjson.dumps(content).decode()
    return "".join(
        part["text"]
        if isinstance(part, dict) and isinstance(part.get("text"), str)
        else orjson.dumps(part).decode()
        for part in content
    )


def _role(message: bytes) -> str:
    """The role without parsing the message, where it stands first as clients write it."""
    if message.startswith(b'{"role":"'):
        return message[9 : message.index(b'"', 9)].decode("utf-8", "replace")
    return str(orjson.loads(message).get("role", ""))
