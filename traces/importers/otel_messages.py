"""Chat messages in the conventions by which GenAI telemetry has written them: parts, numbered attributes, events."""

from __future__ import annotations

import re

from replayer.traces.chat import Message, function_call
from replayer.traces.importers.values import as_dict, as_str, as_text, compact, dicts, opt_str, parsed
from replayer.wire.types import JsonObject

_NUMBERED = re.compile(
    r"^(?:gen_ai|llm)\.(prompts?|completions?|input_messages|output_messages)\.(\d+)\.(?:message\.)?(.+)$"
)
_CALL = re.compile(r"^tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(.+)$")
_PART = re.compile(r"^contents\.(\d+)\.message_content\.(.+)$")
_TOOL = re.compile(r"^llm\.(?:tools\.(\d+)\.tool\.json_schema|request\.functions\.(\d+)\.(\w+))$")
Event = tuple[str, JsonObject]
"""Name and fields of a span event or a log record."""


def messages_of(value: object) -> list[Message]:
    """Messages in OpenAI's form from JSON text or a list, of plain messages or of messages with parts."""
    found: list[Message] = []
    for message in dicts(parsed(value)):
        found += _with_parts(message) if "parts" in message else [message] if "role" in message else []
    return found


def system_of(value: object) -> list[Message]:
    value = parsed(value)
    parts = dicts(value)
    text = "\n".join(as_str(part.get("content")) for part in parts) if parts else as_str(value)
    return [{"role": "system", "content": text}] if text else []


def _with_parts(message: JsonObject) -> list[Message]:
    texts: list[str] = []
    result: Message = {"role": as_str(message.get("role"), "user"), "content": None}
    answers: list[Message] = []
    for part in dicts(message.get("parts")):
        kind = part.get("type")
        if kind == "reasoning":
            result["reasoning_content"] = result.get("reasoning_content", "") + as_str(part.get("content"))
        elif kind == "tool_call":
            result.setdefault("tool_calls", []).append(_call(part))
        elif kind == "tool_call_response":
            answer = as_text(part.get("response", part.get("result")))
            answers.append({"role": "tool", "tool_call_id": as_str(part.get("id")), "content": answer})
        else:
            texts.append(as_str(part.get("content")) if kind == "text" else compact(part))
    if texts:
        result["content"] = "\n".join(texts)
    return answers if answers and not texts else [result, *answers]


def _call(call: JsonObject) -> JsonObject:
    arguments = call.get("arguments")
    text = as_text({} if arguments is None else arguments)
    return function_call(as_str(call.get("id")), as_str(call.get("name")), text)


def numbered(attributes: JsonObject) -> tuple[list[Message], list[Message]]:
    """OpenLLMetry's `gen_ai.prompt.N.content` and OpenInference's `llm.input_messages.N.message.content`."""
    found: dict[tuple[bool, int], JsonObject] = {}
    for key, value in attributes.items():
        if match := _NUMBERED.match(key):
            is_input = match.group(1).startswith(("prompt", "input"))
            found.setdefault((is_input, int(match.group(2)[:6])), {})[match.group(3)] = value
    sides: tuple[list[Message], list[Message]] = [], []
    for (is_input, _), fields in sorted(found.items()):
        sides[not is_input].append(_from_fields(fields))
    return sides


def _from_fields(fields: JsonObject) -> Message:
    message: Message = {"role": as_str(fields.get("role"), "user"), "content": fields.get("content")}
    calls: dict[int, JsonObject] = {}
    parts: dict[int, JsonObject] = {}
    for key, value in fields.items():
        if match := _CALL.match(key):
            calls.setdefault(int(match.group(1)[:6]), {})[match.group(2)] = value
        elif match := _PART.match(key):
            parts.setdefault(int(match.group(1)[:6]), {})[match.group(2)] = value
    if parts and message["content"] is None:
        message["content"] = [_part(part) for _, part in sorted(parts.items())]
    if calls:
        message["tool_calls"] = [_call(call) for _, call in sorted(calls.items())]
    if "tool_call_id" in fields:
        message["tool_call_id"] = fields["tool_call_id"]
    return message


def from_events(events: list[Event]) -> tuple[list[Message], list[Message], str | None]:
    """Messages sent, the reply and why it ended, from one event per message or the older one per side."""
    sent: list[Message] = []
    replies: list[Message] = []
    finish: str | None = None
    for name, fields in events:
        kind = name.removeprefix("gen_ai.")
        if kind == "choice":
            message = as_dict(parsed(fields.get("message"))) or fields
            replies.append(_said("assistant", message))
            finish = opt_str(fields.get("finish_reason")) or finish
        elif kind.endswith(".message"):
            sent.append(_said(kind.removesuffix(".message"), fields))
        elif kind == "content.prompt":
            sent += messages_of(fields.get("gen_ai.prompt"))
        elif kind == "content.completion":
            replies += messages_of(fields.get("gen_ai.completion"))
    return sent, replies, finish


def _said(role: str, fields: JsonObject) -> Message:
    content = fields.get("content") or fields.get("gen_ai.content")
    message: Message = {"role": role, "content": None if content is None else as_text(content)}
    if calls := dicts(parsed(fields.get("tool_calls"))):
        message["tool_calls"] = [_call({**call, **as_dict(call.get("function"))}) for call in calls]
    if role == "tool":
        message["tool_call_id"] = as_str(fields.get("id"))
    return message


def numbered_tools(attributes: JsonObject) -> list[JsonObject]:
    """OpenInference's `llm.tools.N.tool.json_schema` and OpenLLMetry's `llm.request.functions.N.name` and so on."""
    found: dict[int, JsonObject] = {}
    for key, value in attributes.items():
        if match := _TOOL.match(key):
            tool = found.setdefault(int((match.group(1) or match.group(2))[:6]), {})
            tool.update({match.group(3): parsed(value)} if match.group(3) else as_dict(parsed(value)))
    return [
        tool if "function" in tool else {"type": "function", "function": tool}
        for _, tool in sorted(found.items())
    ]


def _part(part: JsonObject) -> JsonObject:
    if isinstance(part.get("image.image.url"), str):
        return {"type": "image_url", "image_url": {"url": part["image.image.url"]}}
    return {"type": "text", "text": as_text(part.get("text"))}


def text_reply(attributes: JsonObject) -> list[Message]:
    text = opt_str(attributes.get("gen_ai.output.text"))
    return [{"role": "assistant", "content": text}] if text else []
