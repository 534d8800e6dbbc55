"""A stand-in chat template: ChatML with tools in the Hermes notation, rendered message by message.

Used where no engine renders the prompt. Real templates write other words around the same texts, so lengths are
close and places of change are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

import orjson

from replayer.lazy import dataclass
from replayer.prefix.tokenizers import Tokenizer
from replayer.signals.prefix_reuse.messages import role_of
from replayer.wire.types import Json

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


@dataclass(slots=True)
class Rendered:
    """The segments of the first messages of a request, which stay as they are when others follow."""

    messages: int = 0
    segments: list[bytes] = field(default_factory=list)


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

    def prompt(
        self, messages: Sequence[bytes], tools: bytes = b"[]", begun: Rendered | None = None
    ) -> list[bytes]:
        """The segments of a request. `begun` keeps those that stay as they are when messages are added; pass the same
        again with the longer request."""
        begun = begun or Rendered()
        fixed, tail = begun.segments, list[bytes]()
        for n in range(begun.messages, len(messages)):
            last = n + 1 == len(messages)
            segments = tail if last else fixed
            message, role = messages[n], role_of(messages[n])
            if n == 0 and tools != b"[]":
                if role == "system":
                    segments.append(self._head(message, tools))
                    continue
                segments.append(self._tools(tools))
            if role == "assistant":
                segments += self._reply_segments(message)
                continue
            after = n > 0 and role_of(messages[n - 1]) == "tool"
            before = not last and role_of(messages[n + 1]) == "tool"
            segments.append(self._message(message, role, after, before))
        begun.messages = max(0, len(messages) - 1)
        if tools != b"[]" and not messages:
            tail.append(self._tools(tools))
        return [*fixed, *tail, self._segment("generation", b"", lambda: _GENERATION)]

    def _tools(self, tools: bytes) -> bytes:
        return self._segment("tools", tools, lambda: system_text("", orjson.loads(tools)))

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


def system_text(system: str, tools: Sequence[object]) -> str:
    offered = "".join("\n" + orjson.dumps(tool).decode() for tool in tools)
    head = system + "\n\n" if system else ""
    return f"<|im_start|>system\n{head}{_TOOLS_HEAD}{offered}{_TOOLS_TAIL}<|im_end|>\n"


def message_text(message: Mapping[str, Json], after_tool: bool = False, before_tool: bool = False) -> str:
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


def _call(call: object) -> str:
    function = call.get("function", call) if isinstance(call, dict) else {}
    arguments = function.get("arguments", "")
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return f'<tool_call>\n{{"name": "{function.get("name")}", "arguments": {text}}}\n</tool_call>'


def _plain(content: object) -> str:
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
